"""The evidence pack: equal inputs give equal bytes, and every change of it is found."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import onnx
import onnx.parser
import pytest
import z3
from msgspec import structs
from onnx import numpy_helper

import sonnx
from sonnx.cli.main import run
from sonnx.evidence import pack_parts
from sonnx.evidence.canonical_form import canonical
from sonnx.evidence.identity import external_bytes
from sonnx.evidence.objectives import absent_files
from sonnx.model.reader import read
from sonnx.proofs import registry
from sonnx.prover import driver, record
from sonnx.prover.queries import questions_of
from sonnx.suite.result import Counts, SuiteRun
from tests.support.editions import NEWEST

ROOT = Path(__file__).parent.parent.parent
OPTIONS = ("--tailoring", "t.toml", "--deviations", "d.toml", "--date", "2026-11-21", "--bind", "N=3")
EXPORTED, CONFORMING = (ROOT / "examples" / f"{name}.onnx" for name in ("as_exported", "conforming"))


def files(folder: Path, *without: str) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in without
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with a tailoring and deviations."""
    folder = tmp_path_factory.mktemp("one")
    prepare(folder)
    with contextlib.chdir(folder):
        assert run(["audit", str(folder / "model.onnx"), "--output", "pack", *OPTIONS]) == 1
    return folder / "pack"


def prepare(folder: Path) -> None:
    shutil.copy(EXPORTED, folder / "model.onnx")
    page = (ROOT / "docs" / "deviations.md").read_text("utf-8")
    (folder / "d.toml").write_text(page.partition("```toml\n")[2].partition("```")[0], "utf-8")
    (folder / "t.toml").write_text(f'name = "P"\nedition = "{NEWEST}"\noperators = ["Max", "ArgMax"]\n', "utf-8")


@pytest.fixture
def pack(made: Path, tmp_path: Path) -> Path:
    """A copy of the pack that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "pack"))


def verified(folder: Path, capsys: pytest.CaptureFixture[str], *model: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["audit", "--verify", str(folder), *model])
    return code, capsys.readouterr().out


# ------------------------------------------------------------------ what is in it


def test_two_runs_in_other_folders_at_other_times_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    prepare(tmp_path / "deep" / "er")
    elsewhere = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "sonnx", "audit", str(tmp_path / "deep/er/model.onnx"), "--output", "other", *OPTIONS],
        cwd=tmp_path / "deep" / "er", env={**os.environ, **elsewhere}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    other = tmp_path / "deep" / "er" / "other"
    assert files(other, "run.json") == files(made, "run.json")
    assert (other / "run.json").read_bytes() != (made / "run.json").read_bytes()
    for content in files(other, "run.json").values():
        assert str(tmp_path).encode() not in content


def test_no_file_of_the_pack_is_said_to_be_absent(made: Path) -> None:
    present = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert json.loads((made / "objectives.json").read_text())["absent"] == [*absent_files(present)]


def test_the_manifest_has_the_hash_of_every_file(made: Path) -> None:
    listed = json.loads((made / "manifest.json").read_bytes())["files"]
    found = files(made, "run.json", "manifest.json")
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def test_identity(made: Path) -> None:
    about = json.loads((made / "audit.json").read_bytes())
    assert about["model"]["sha256"] == hashlib.sha256(EXPORTED.read_bytes()).hexdigest()
    assert about["model"]["canonical_sha256"] == hashlib.sha256(canonical(read(EXPORTED))).hexdigest()
    assert about["edition"]["operators"]["ArgMax"] == {"status": "specified", "text": "2026-08"}
    general = ROOT / "restrictions" / "general.toml"
    assert about["edition"]["files"]["general.toml"] == hashlib.sha256(general.read_bytes()).hexdigest()
    packages = {each["name"]: each["version"] for each in about["packages"] if each["sha256"]}
    demanded = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {each.partition(">=")[0].replace("_", "-") for each in demanded}
    assert names | {"protobuf"} <= packages.keys()
    assert len(packages) == len(about["packages"])
    assert packages["onnx"] == onnx.__version__
    said = " ".join(about["command"])
    assert said == (
        f"sonnx audit model.onnx --edition {NEWEST} --bind N=3 --tailoring configuration/tailoring/t.toml "
        "--deviations configuration/deviations/d.toml --date 2026-11-21"
    )
    assert about["exit"] == 1


def test_every_rule_has_its_line_with_the_answers_of_the_report(made: Path) -> None:
    about = json.loads((made / "audit.json").read_bytes())
    [report] = json.loads((made / "report.json").read_bytes())["reports"]
    rows = {each["rule"]: each for each in about["rules"]}
    assert report["rules"].keys() <= rows.keys()
    for count in report["counts"]:
        said = rows[count["rule"]]["answers"]
        assert said[count["verdict"]] == sum(
            each["number"]
            for each in report["counts"]
            if (each["rule"], each["verdict"]) == (count["rule"], count["verdict"])
        )
    row = rows["ArgMax.axis-not-negative"]
    assert row["answers"] == {"deviated": 1}
    assert row["conforming_cases"]
    assert row["violating_cases"]
    own = [each for each in about["without"]["rules_without_violating_case"] if not each.startswith(("tail", "devi"))]
    assert own == ["operator-conditions", "training-graphs"], "they pass, or are not checked"
    problems = {each["id"] for each in about["known_problems"]}
    asked = [row for row in rows.values() if row["answers"]]
    assert {name for row in asked for name in row["errata"]} <= problems
    assert "numbers-of-external-data" not in problems, "of a rule without a subject in the model"
    assert "zero-against-one" in problems, "of Max"
    assert "maxpool-window-in-padding" not in problems, "of an operator that the model does not use"


def test_theorems_are_those_of_the_versions_used_with_their_questions(made: Path) -> None:
    about = json.loads((made / "audit.json").read_bytes())
    ids = [each["id"] for each in about["theorems"]]
    assert {each.split(".")[1].partition("-")[0] for each in ids if each.startswith("derived.")} == {"ArgMax", "Max"}
    assert "derived.ArgMax-13.independent.axis-range" in ids
    assert not [each for each in ids if each.startswith(("derived.Max-1.", "order.key", "kernel."))]
    assert [each for each in ids if each.startswith("broadcast.")]
    for each in about["theorems"]:
        for question in (query for query in each["obligations"] if not query["computed"]):
            text = (made / "theorems" / question["file"]).read_bytes()
            assert hashlib.sha256(text).hexdigest() == question["smt2_sha256"]


def test_the_status_of_a_theorem_is_never_more_than_the_record_says() -> None:
    [theorem] = [each for each in registry.theorems() if each.id == "built-in.clamped"]
    asked = list(questions_of(theorem, "z3", theorem.obligations))
    [outcome] = driver.prove([theorem], "z3")
    known = {theorem.id: record.entry(outcome)}
    whole = pack_parts.recorded_result(theorem, asked, known)
    assert (whole.status, whole.outcome, whole.confirmed) == ("proved", "as expected", False)
    worse = {theorem.id: {**known[theorem.id], "status": "undecided"}}
    assert pack_parts.recorded_result(theorem, asked, worse).outcome == "unexpected"
    weaker = replace(asked[0].obligation, goal=z3.BoolVal(True))
    changed = [replace(asked[0], obligation=weaker), *asked[1:]]
    for other, recorded in ((asked, {}), (changed, known), (asked[1:], known)):
        said = pack_parts.recorded_result(theorem, other, recorded)
        assert said == pack_parts.RecordedResult()


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for key, value in attrs if key in ("href", "src")]
        assert tag not in ("script", "img", "link", "iframe")


def test_the_page_says_the_main_things_and_loads_nothing(made: Path) -> None:
    page = (made / "index.html").read_text("ascii")
    about = json.loads((made / "audit.json").read_bytes())
    links = Links()
    links.feed(page)
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {unquote(link) for link in links.found} - {"#files"} == files - {"index.html"}
    assert (made / "report.html").is_file()
    for text in (*about["limits"], about["model"]["sha256"], about["model"]["canonical_sha256"]):
        assert text in page
    for each in (*about["rules"], *about["edition"]["operators"]):
        assert (each["rule"] if isinstance(each, dict) else each) in page


# ------------------------------------------------------------------ verify


def test_a_pack_is_verified(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(pack, capsys)
    assert (code, said.count("\n")) == (0, 2)
    assert "content reproduced" in said and "environment equal" in said


def test_a_moved_model_is_named(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXPORTED, tmp_path / "elsewhere.onnx")
    (pack / "run.json").unlink()
    assert run(["audit", "--verify", str(pack)]) == 2
    assert verified(pack, capsys, str(tmp_path / "elsewhere.onnx"))[0] == 0


def test_every_changed_file_is_found(pack: Path, made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["report.json", "audit.json", "index.html", "configuration/deviations/d.toml", "manifest.json"]
    names.append(next(name for name in files(made) if name.startswith("theorems/")))
    for name in names:
        (pack / name).write_bytes((made / name).read_bytes() + b" ")
        code, said = verified(pack, capsys)
        assert code == 1, name
        assert name in said
        shutil.copy(made / name, pack / name)
    (pack / "report.json").unlink()
    (pack / "more.txt").write_text("x")
    code, said = verified(pack, capsys)
    assert code == 1
    assert "report.json is listed in the manifest and missing" in said
    assert "more.txt is not listed in the manifest" in said


def test_a_forged_verdict_with_a_fitting_manifest_is_found(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged = (pack / "audit.json").read_text("utf-8").replace('"verdict": "fail"', '"verdict": "pass"', 1)
    (pack / "audit.json").write_text(forged, "utf-8")
    manifest = json.loads((pack / "manifest.json").read_bytes())
    manifest["files"]["audit.json"] = hashlib.sha256(forged.encode()).hexdigest()
    (pack / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    code, said = verified(pack, capsys)
    assert code == 1
    assert 'audit.json: verdict is "pass", a fresh run gives "fail"' in said


def test_another_model_is_found(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(pack, capsys, str(CONFORMING))[0] == 1
    model = onnx.load(EXPORTED)
    model.producer_name = "other"
    onnx.save(model, tmp_path / "other.onnx")
    code, said = verified(pack, capsys, str(tmp_path / "other.onnx"))
    assert code == 1
    assert "audit.json: model differs: sha256 is " in said


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 3}'])
def test_what_is_no_pack_is_misuse(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert run(["audit", "--verify", str(tmp_path)]) == 2
    assert run(["audit", "--verify", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize("text", ["", "[]", '{"options": {"edition": 3}}'])
def test_a_pack_that_cannot_be_made_again_says_so(pack: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (pack / "audit.json").write_text(text)
    code, said = verified(pack, capsys)
    assert code == 1
    assert "cannot be rebuilt" in said


def test_a_pack_of_an_older_version_names_the_version(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that this version reads differs in its tool; of another one it says which version verifies it."""
    about = json.loads((pack / "audit.json").read_bytes())
    about["tool"]["version"] = "0.0.9"
    (pack / "audit.json").write_text(json.dumps(about))
    code, said = verified(pack, capsys)
    assert code == 1
    assert 'audit.json: tool differs: version is "0.0.9", a fresh run gives ' in said
    (pack / "audit.json").write_text(json.dumps({**about, "options": {"option-of-old": 1}}))
    code, said = verified(pack, capsys)
    assert code == 1
    assert "; sonnx 0.0.9 made it: verify it with that version, this is " in said


# ------------------------------------------------------------------ the record of rewrites

REWRITTEN = ROOT / "tests" / "models" / "cnn_torchscript.onnx"


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rewritten model, its record, and the pack of both."""
    folder = tmp_path_factory.mktemp("rewritten")
    model, record = str(folder / "out.onnx"), str(folder / "record.json")
    assert run(["fix", str(REWRITTEN), "--output", model, "--report", record, "--samples", "1"]) == 0
    assert run(["audit", model, "--output", str(folder / "pack"), "--rewrites", record]) == 0
    return folder


def test_the_record_of_rewrites_is_in_the_pack_and_on_its_page(
    rewritten: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, about = (json.loads((rewritten / name).read_bytes()) for name in ("record.json", "pack/audit.json"))
    kept = rewritten / "pack" / "configuration" / "rewrites" / "record.json"
    assert kept.read_bytes() == (rewritten / "record.json").read_bytes()
    assert about["rewrites"]["sha256"] == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert about["rewrites"]["content"] == record
    assert about["command"][-2:] == ["--rewrites", "configuration/rewrites/record.json"]
    page = html.unescape((rewritten / "pack" / "index.html").read_text("ascii"))
    assert hashlib.sha256(REWRITTEN.read_bytes()).hexdigest() in page
    assert record["validation"]["summary"][1:] in page
    assert all(each["kind"] in page and each["after"] in page for each in record["rewrites"])
    named = {each["theorem"] for each in record["rewrites"]} - {None}
    assert named
    assert named <= {each["id"] for each in about["theorems"]}
    assert verified(rewritten / "pack", capsys)[0] == 0


def test_a_changed_record_in_a_pack_is_found(
    rewritten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the manifest was made to fit."""
    pack = Path(shutil.copytree(rewritten / "pack", tmp_path / "pack"))
    path = pack / "configuration" / "rewrites" / "record.json"
    content = path.read_bytes().replace(b'"done": true', b'"done": false')
    path.write_bytes(content)
    assert "record.json was changed" in verified(pack, capsys)[1]
    manifest = json.loads((pack / "manifest.json").read_bytes())
    manifest["files"]["configuration/rewrites/record.json"] = hashlib.sha256(content).hexdigest()
    (pack / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    code, said = verified(pack, capsys)
    assert code == 1
    assert "audit.json: rewrites differs: " in said


def test_a_record_of_another_file_or_of_no_theorem_is_misuse(
    rewritten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((rewritten / "record.json").read_bytes())
    named = [each for each in record["rewrites"] if each["theorem"]]
    named[0]["theorem"] = "rewrite.no-such"
    (tmp_path / "other.json").write_text(json.dumps(record))
    before = files(tmp_path)
    for model, path, said in (
        (REWRITTEN, rewritten / "record.json", "'record.json' is the record of another file"),
        (rewritten / "out.onnx", tmp_path / "other.json", "names a theorem unknown to this tool"),
        (rewritten / "out.onnx", tmp_path / "absent.json", "absent.json cannot be read"),
        (rewritten / "out.onnx", REWRITTEN, "is not a JSON file"),
    ):
        capsys.readouterr()
        assert run(["audit", str(model), "--output", str(tmp_path / "new"), "--rewrites", str(path)]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert files(tmp_path) == before
    assert run(["audit", "--verify", str(rewritten / "pack"), "--rewrites", str(rewritten / "record.json")]) == 2


def test_a_hostile_record_is_no_markup(rewritten: Path, tmp_path: Path) -> None:
    record = json.loads((rewritten / "record.json").read_bytes())
    hostile = "<script>alert(1)</script>\u202e"
    record["original"]["model"] = record["validation"]["summary"] = hostile
    for each in record["rewrites"]:
        each.update(before=hostile, after=hostile, kind=hostile, changes=hostile, rules=[hostile])
        each["where"].update(place=hostile, name=hostile)
    left = {"rule": hostile, "verdict": "fail", "number": 1, "remedy": hostile}
    record["left"] = [{**left, "reasons": [{"reason": hostile, "places": [hostile]}]}]
    (tmp_path / "r.json").write_text(json.dumps(record))
    run(["audit", str(rewritten / "out.onnx"), "--output", str(tmp_path / "p"), "--rewrites", str(tmp_path / "r.json")])
    page = (tmp_path / "p" / "index.html").read_text("ascii")
    assert "<script" not in page
    assert "\u202e" not in html.unescape(page)


# ------------------------------------------------------------------ bad folders


def test_a_folder_that_cannot_be_used_is_misuse_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "audit.json").write_text("{}")
    (tmp_path / "file").write_text("")
    for name in ("full", "file", "absent/inner", "file/inner"):
        capsys.readouterr()
        before = files(tmp_path)
        assert run(["audit", str(CONFORMING), "--output", str(tmp_path / name)]) == 2, name
        assert capsys.readouterr().err.count("\n") == 1
        assert files(tmp_path) == before
    assert run(["audit", str(tmp_path / "file"), "--output", str(tmp_path / "new")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write everywhere, so that the answer of the system stands in for its rights."""
    monkeypatch.setattr(os, "access", lambda path, mode: (Path(path), mode) != (tmp_path, os.W_OK))
    assert run(["audit", str(tmp_path / "absent.onnx"), "--output", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == f"sonnx: {tmp_path} cannot be written to: name a folder elsewhere\n"


@pytest.mark.parametrize("option", ["--deviations", "--tailoring", "--rewrites"])
@pytest.mark.parametrize("text", ["x = [", "surprise = 1", '[[deviation]]\nrule = "x"', "\x00"])
def test_a_malformed_file_of_the_project_makes_no_pack(
    tmp_path: Path, option: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given").write_text(text)
    arguments = ["audit", str(CONFORMING), "--output", str(tmp_path / "new"), option, str(tmp_path / "given")]
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"sonnx: {tmp_path / 'given'}")
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


def test_nothing_stays_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert run(["audit", str(CONFORMING), "--output", str(tmp_path / "new")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_used_and_options_of_verify_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["audit", str(CONFORMING), "--output", str(tmp_path / "empty")]) == 0
    assert run(["audit", "--verify", str(tmp_path / "empty"), "--edition", "2025-10"]) == 2
    assert run(["audit", "--output", str(tmp_path / "other")]) == 2
    for choice in ("--select", "--ignore"):
        with pytest.raises(SystemExit):
            run(["audit", str(CONFORMING), "--output", str(tmp_path / "other"), choice, "Max"])


# ------------------------------------------------------------------ the canonical form

TEXT = """<ir_version: 10, opset_import: ["" : 13], producer_name: "p">
g (float[2] a) => (float[2] y) <float[2] w = {1.0, -2.5}, int4[3] q = {1, 2, 3}>
{ y = Max(a, w)
  z = LeakyRelu <alpha = 0.1> (y) }"""


def test_the_canonical_form_of_a_small_model_is_the_text_of_the_page() -> None:
    """Written by hand from docs/audit.md."""
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[N] y) <float[1] w = {1.0}> '
        "{ y = Max <k = 0.5> (a) }"
    )
    weights = hashlib.sha256(bytes.fromhex("0000803f")).hexdigest()
    tensor = '{"element":"float","holds_sparse":false,"kind":"tensor","shape":[%s]}'
    node = (
        '{"attributes":[{"fields":["f"],"kind":"float","name":"k","reference":"","value":{"float":"3f000000"}}],'
        '"domain":"","inputs":["a"],"name":"","operator":"Max","outputs":["y"],"overload":""}'
    )
    graph = (
        '{"annotations":0,"initializers":[{"dims":[1],"element":"float","name":"w","not_read":null,"values":"'
        + weights + '"}],"inputs":[{"name":"a","type":' + tensor % "2" + '}],"name":"g","nodes":[' + node + "],"
        '"outputs":[{"name":"y","type":' + tensor % '"N"' + '}],"sparse_initializers":[],"value_info":[]}'
    )  # fmt: skip
    wanted = (
        '{"configurations":0,"format":1,"functions":[],"graph":' + graph + ',"imports":[["",13]],"ir_version":10,'
        '"metadata":[],"producer":"","training":[],"training_entries":0,"unknown":[]}'
    )
    assert canonical(read(model.SerializeToString())).decode("ascii") == wanted


def test_storage_does_not_change_it_and_everything_else_does(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT)
    form = canonical(read(model.SerializeToString()))
    raw = onnx.ModelProto.FromString(model.SerializeToString())
    for index, tensor in enumerate(raw.graph.initializer):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            made = numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
            assert made.raw_data
            raw.graph.initializer[index].CopyFrom(made)
    raw.graph.initializer.reverse()
    assert canonical(read(raw.SerializeToString())) == form
    onnx.save_model(raw, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    outside = read(tmp_path / "m.onnx")
    assert [tensor.name for tensor in outside.graph.initializers if tensor.external] == ["w"]
    beside = lambda tensor: external_bytes(tmp_path, tensor.external) if tensor.external else None  # noqa: E731
    assert canonical(outside, beside) == form
    assert canonical(outside) != form
    changes: list[Any] = [
        lambda m: setattr(m.graph.node[0], "name", "n"),
        lambda m: m.graph.node[0].input.reverse(),
        lambda m: setattr(m.graph.node[1].attribute[0], "f", 0.2),
        lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, -2], np.float32), "w")),
        lambda m: setattr(m.opset_import[0], "version", 12),
        lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", "N"),
        lambda m: m.metadata_props.add(key="a", value="b"),
        lambda m: m.graph.node.reverse(),
    ]
    forms = {form}
    for change in changes:
        other = onnx.ModelProto.FromString(model.SerializeToString())
        change(other)
        forms.add(canonical(read(other.SerializeToString())))
    assert len(forms) == len(changes) + 1


def test_external_data_are_hashed_or_listed_with_the_reason(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT)
    raw = onnx.ModelProto.FromString(model.SerializeToString())
    raw.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, -2.5], np.float32), "w"))
    onnx.save_model(raw, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    digest = hashlib.sha256((tmp_path / "w.bin").read_bytes()).hexdigest()
    for name, wanted in (("whole", (digest, None)), ("gone", (None, "does not exist"))):
        if name == "gone":
            (tmp_path / "w.bin").unlink()
        run(["audit", str(tmp_path / "m.onnx"), "--output", str(tmp_path / name)])
        about = json.loads((tmp_path / name / "audit.json").read_bytes())
        assert [(each["sha256"], each["not_read"]) for each in about["model"]["external_data"]] == [wanted]


def test_external_data_of_sparse_tensors_are_listed(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT)
    sparse = model.graph.sparse_initializer.add(dims=[9])
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([4], np.int64)))
    sparse.values.CopyFrom(onnx.TensorProto(name="s", data_type=1, dims=[1], data_location=1))
    sparse.values.external_data.add(key="location", value="s.bin")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "s.bin").write_bytes(b"\0\0\0\0")
    run(["audit", str(tmp_path / "m.onnx"), "--output", str(tmp_path / "pack")])
    [listed] = json.loads((tmp_path / "pack" / "audit.json").read_bytes())["model"]["external_data"]
    assert (listed["file"], listed["sha256"]) == ("s.bin", hashlib.sha256(b"\0\0\0\0").hexdigest())


def test_the_audit_judges_as_the_check(made: Path) -> None:
    [report] = json.loads((made / "report.json").read_bytes())["reports"]
    plain = sonnx.check(EXPORTED, bind={"N": 3})
    own = [each for each in report["findings"] if not each["rule"].startswith("tailoring.")]
    assert [(each["rule"], each["where"]["place"]) for each in own] == [(e.rule, e.where.place) for e in plain.findings]


def test_a_pack_carries_the_proofs_of_its_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proofs, pack = tmp_path / "proofs", tmp_path / "pack"
    assert run(["theorems", "--select", "broadcast.by-pairs", "--proofs", str(proofs), "--jobs", "0"]) == 0
    model = tmp_path / "m.onnx"
    shutil.copy(ROOT / "examples" / "conforming.onnx", model)
    assert run(["audit", str(model), "--output", str(pack), "--proofs", str(proofs)]) == 0
    about = json.loads((pack / "audit.json").read_bytes())
    (pairs,) = (each for each in about["theorems"] if each["id"] == "broadcast.by-pairs")
    assert all((pack / each["proof"]).is_file() for each in pairs["obligations"])
    carried = json.loads((pack / "certificates" / "manifest.json").read_text())
    known = {each["smt2_sha256"] for row in about["theorems"] for each in row["obligations"]}
    assert {each["question_sha256"] for each in carried["questions"]} <= known
    (pack / pairs["obligations"][0]["proof"]).write_text("(step)")
    assert run(["audit", "--verify", str(pack)]) == 1
    assert capsys.readouterr().out.count("differ") == 2  # from its manifest, from that of the certificates


@pytest.mark.parametrize("setting", ["nodes=5000", "findings=1,steps=100"])
def test_a_pack_made_with_other_limits_is_verified(setting: str, tmp_path: Path) -> None:
    assert run(["audit", str(EXPORTED), "--output", str(tmp_path / "pack"), "--limit", setting]) in (1, 3)
    assert run(["audit", str(EXPORTED), "--verify", str(tmp_path / "pack")]) == 0
    assert run(["audit", str(EXPORTED), "--verify", str(tmp_path / "pack"), "--limit", setting]) == 2
    options = json.loads((tmp_path / "pack" / "audit.json").read_text())["options"]
    assert options["limits"] == {name: int(number) for name, number in (s.split("=") for s in setting.split(","))}


# ------------------------------------------------------------------ the original


def test_the_pack_says_whether_the_model_is_the_function_of_its_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFORMING, "original.onnx")
    made = onnx.load(CONFORMING)
    made.graph.name, made.producer_name = "optimized", "an optimizer"
    onnx.save(made, "model.onnx")
    plain = run(["check", "model.onnx", "--quiet"])
    assert run(["audit", "model.onnx", "--output", "pack", "--derived-from", "original.onnx"]) == plain
    assert "original.onnx, which it was derived from: identical" in capsys.readouterr().out
    about = json.loads(Path("pack/audit.json").read_bytes())["derived_from"]
    assert about["answer"] == "identical"
    assert about["original"]["sha256"] == hashlib.sha256(CONFORMING.read_bytes()).hexdigest()
    assert all(
        "as functions they are identical" in text_of(f"pack/{page}") for page in ("index.html", "statement.html")
    )
    assert verified(Path("pack"), capsys)[0] == 0
    assert CONFORMING.read_bytes() not in files(Path("pack")).values()

    Path("original.onnx").rename("elsewhere.onnx")
    code, said = verified(Path("pack"), capsys)
    assert code == 1
    assert "original.onnx" in said
    Path("elsewhere.onnx").rename("original.onnx")

    made.graph.node[0].op_type = "Min"
    onnx.save(made, "original.onnx")
    code, said = verified(Path("pack"), capsys)
    assert code == 1
    assert "derived_from" in said
    assert run(["audit", "model.onnx", "--output", "other", "--derived-from", "original.onnx"]) == 1
    assert json.loads(Path("other/audit.json").read_bytes())["derived_from"]["answer"] == "different"
    argument = json.loads(Path("other/argument.json").read_bytes())["elements"]
    assert {each["id"]: each["state"] for each in argument}["G8"] == "not met"


def text_of(page: str) -> str:
    return re.sub("<[^>]*>", "", Path(page).read_text("ascii")).replace("As functions", "as functions")


# ------------------------------------------------------------------ properties


def test_the_pack_has_properties_with_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("controller.onnx", "controller.vnnlib"):
        shutil.copy(CONFORMING.parent / name, name)
    make = ["audit", "controller.onnx", "--output", "pack", "--property", "controller.vnnlib"]
    assert run(make) == 2
    assert "'controller.json' cannot be read: No such file or directory; sonnx verify" in capsys.readouterr().err
    assert run(["verify", "controller.onnx", "controller.vnnlib", "--certificate", "controller.json"]) == 0
    assert run(make) == 0
    [about] = json.loads(Path("pack/audit.json").read_bytes())["properties"]
    assert (about["file"], about["certificate"], about["parts"]) == ("controller.vnnlib", "controller.json", 4)
    assert about["sha256"] == hashlib.sha256(Path("controller.vnnlib").read_bytes()).hexdigest()
    assert "holds in every implementation of this kind: float, each operation" in text_of("pack/statement.html")
    capsys.readouterr()
    assert verified(Path("pack"), capsys)[0] == 0
    files = ["controller.onnx", "pack/properties/controller.vnnlib", "pack/properties/controller.json"]
    program = [sys.executable, "-I", "-S", "pack/properties/certificate_checker.py", *files]
    assert subprocess.run(program, capture_output=True, check=False).returncode == 0

    certificate = json.loads(Path("controller.json").read_text())
    Path("controller.json").write_text(json.dumps(certificate | {"model": "0" * 64}))
    make[3] = "other"
    assert run(make) == 2
    assert "does not show the property 'controller.vnnlib': the certificate is about another model" in (
        capsys.readouterr().err
    )
    assert not Path("other").exists()
    Path("controller.json").write_text("no JSON")
    assert run(make) == 2
    assert "'controller.json' is not a certificate of 'controller.vnnlib'" in capsys.readouterr().err
    assert run([*make, "--property", "controller.vnnlib"]) == 2
    assert "two properties have the name 'controller.vnnlib'" in capsys.readouterr().err


# ------------------------------------------------------------------ suites


def test_the_pack_has_reports_of_suites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFORMING, "model.onnx")
    counts = Counts(within=3)
    report = SuiteRun(
        suite="suite", implementation="ours 1.0", edition="2026-11", suite_sha256="0" * 64,
        hypotheses="ieee-any", operators={"Max": counts, "Relu": counts},
        deviations=(), problems=(),
    )  # fmt: skip
    Path("run.json").write_text(report.to_json())
    assert run(["audit", "model.onnx", "--output", "pack", "--suite", "run.json"]) == 0
    document = json.loads(Path("pack/audit.json").read_bytes())
    [about] = document["suite"]
    assert (about["implementation"], about["exit"], about["deviations"]) == ("ours 1.0", 0, 0)
    used = {node.op_type for node in onnx.load("model.onnx").graph.node}
    assert about["not_tested"] == sorted(used - {"Max", "Relu"})
    assert about["data_sets"]["within"] == 3 * len(used & {"Max", "Relu"})
    assert any("does not run the suite again" in each for each in document["limits"])
    page = Path("pack/index.html").read_text("utf-8")
    for shown in ("Suites of the implementation", "ours 1.0", *about["not_tested"], about["sha256"]):
        assert shown in page
    assert verified(Path("pack"), capsys)[0] == 0
    Path("pack/suites/run.json").write_text(report.to_json().replace("1.0", "2.0"))
    assert verified(Path("pack"), capsys)[0] == 1
    older = structs.replace(report, edition="2025-10")
    Path("older.json").write_text(older.to_json())
    assert run(["audit", "model.onnx", "--output", "other", "--suite", "older.json"]) == 2
    assert "a suite of edition 2025-10; the pack is about edition 2026-11" in capsys.readouterr().err
    changed = json.loads(report.to_json()) | {"exit_code": 7}
    for content, said in (("no JSON", "not a JSON report"), (json.dumps(changed), "not as this version")):
        Path("run.json").write_text(content)
        assert run(["audit", "model.onnx", "--output", "other", "--suite", "run.json"]) == 2
        assert said in capsys.readouterr().err
        assert not Path("other").exists()
