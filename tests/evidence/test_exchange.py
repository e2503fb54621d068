"""Files of a pack in the formats of other tools, its signature, and what stands of an earlier pack."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from reqif.parser import ReqIFParser

import sonnx
from sonnx.checker import profile_validation
from sonnx.checker.conditions import Conditions, DeviationDay, StatedDeviations
from sonnx.cli.main import run
from sonnx.evidence.argument import argument
from sonnx.evidence.requirements_exchange import ATTRIBUTES, NAMESPACE
from sonnx.evidence.signature import SIGNATURE
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.profile.requirement_identifiers import register, register_faults, requirement_identifier
from tests.support.exchange_formats import cyclonedx_faults, reqif_faults

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen of OpenSSH is not installed")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack of a model that does not conform."""
    folder = tmp_path_factory.mktemp("before") / "pack"
    assert run(["audit", str(EXAMPLES / "as_exported.onnx"), "--output", str(folder)]) == 1
    return folder


@pytest.fixture(scope="module")
def after(before: Path) -> Path:
    """The pack of a conforming model, with what stands of the other one."""
    folder = before.parent / "after"
    assert run(["audit", str(EXAMPLES / "conforming.onnx"), "--output", str(folder), "--since", str(before)]) == 0
    return folder


def document(folder: Path, name: str = "audit.json") -> Any:
    return json.loads((folder / name).read_bytes())


# ------------------------------------------------------------------ requirements


def test_requirements_carry_what_the_matrix_says(after: Path) -> None:
    root = ElementTree.parse(after / "requirements.reqif").getroot()
    space = {"r": NAMESPACE}
    names = {
        each.get("IDENTIFIER"): each.get("LONG-NAME")
        for each in root.iterfind(".//r:ATTRIBUTE-DEFINITION-STRING", space)
    }
    assert set(names.values()) == set(ATTRIBUTES.values())
    found = {}
    for each in root.iterfind(".//r:SPEC-OBJECT", space):
        values = {
            names[str(value.findtext(".//r:ATTRIBUTE-DEFINITION-STRING-REF", namespaces=space))]: value.get("THE-VALUE")
            for value in each.iterfind(".//r:ATTRIBUTE-VALUE-STRING", space)
        }
        found[values["ReqIF.ForeignID"]] = values
    rows = document(after)["rules"]
    assert found.keys() == {row["requirement"] for row in rows}
    for row in rows:
        values = found[row["requirement"]]
        assert (values["ReqIF.Name"], values["ReqIF.Text"]) == (row["rule"], row["statement"])
        assert values["Result for this model"] == (
            "; ".join(f"{number} {verdict}" for verdict, number in row["answers"].items()) or "no subject"
        )
    keys = [each.get("IDENTIFIER") for each in root.iter() if each.get("IDENTIFIER")]
    assert len(set(keys)) == len(keys)
    referred = {each.text for each in root.iter() if each.tag.endswith("-REF")}
    assert referred <= set(keys)


def test_requirements_follow_the_format(after: Path, tmp_path: Path) -> None:
    """The schema of OMG, and references that lead somewhere, by the package reqif."""
    document_ = after / "requirements.reqif"
    assert reqif_faults(document_) == []
    bundle = ReqIFParser.parse(str(document_))
    assert bundle.exceptions == []
    assert len(bundle.core_content.req_if_content.spec_objects) == len(document(after)["rules"])
    text = document_.read_text("utf-8")
    changed = tmp_path / "changed.reqif"
    for old, new in ((' IDENTIFIER="', ' NAME="'), ("<SPEC-OBJECT-REF>", "<SPEC-OBJECT-REF>no-")):
        changed.write_text(text.replace(old, new, 1), "utf-8")
        assert len(reqif_faults(changed)) == 1


def register_gaps(text: str, rules: Iterable[Rule]) -> Iterator[str]:
    """One sentence for each identifier that the register lacks, or whose rule is gone without being withdrawn."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    used = {requirement_identifier(rule, "").partition("/")[2] for rule in rules}
    for name in sorted(used - {name for name, *_ in lines}):
        yield f"The requirement identifier {name} is not listed in requirement_identifiers.txt."
    for name in sorted({name for name, *state in lines if not state} - used):
        yield f"The requirement identifier {name} has no rule; mark it as withdrawn in requirement_identifiers.txt."


def test_no_identifier_is_lost_or_used_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, text = list(rules_by_slug().values()), register()
    assert [*register_faults(text, rules), *register_gaps(text, rules)] == []
    used = "Max/broadcastable\n"
    changed = {
        f"{text}{used}": "Max/broadcastable is listed twice in requirement_identifiers.txt.",
        text.replace(used, ""): "Max/broadcastable is not listed in requirement_identifiers.txt.",
        text.replace(used, f"{used[:-1]} withdrawn\n"): "Max/broadcastable was withdrawn, and is that of a rule again.",
        f"{text}Max/gone\n": "Max/gone has no rule; mark it as withdrawn in requirement_identifiers.txt.",
    }
    for other, sentence in changed.items():
        found = [*register_faults(other, rules), *register_gaps(other, rules)]
        assert found == [f"The requirement identifier {sentence}"]
    assert "The requirement identifier Max/broadcastable is used twice." in register_faults(
        text, [*rules, *(each for each in rules if each.slug == "Max.broadcastable")]
    )
    monkeypatch.setattr(profile_validation, "register", lambda: f"{text}{used}")
    assert run(["tool", "selfcheck"]) == 1
    assert capsys.readouterr().out.count("The requirement identifier Max/broadcastable is listed twice") == 1


# ------------------------------------------------------------------ bill of materials and argument


def test_the_bill_of_the_model_names_what_it_consists_of(after: Path) -> None:
    component = document(after, "model.cdx.json")["metadata"]["component"]
    assert component["type"] == "machine-learning-model"
    assert component["hashes"] == [{"alg": "SHA-256", "content": document(after)["model"]["sha256"]}]
    properties = [(each["name"].removeprefix("sonnx:"), each["value"]) for each in component["properties"]]
    assert ("operator", "ai.onnx.Max 1") in properties
    assert ("operator-set", "ai.onnx 18") in properties
    assert dict(properties)["datasets"] == dict(properties)["licence"] == "not stated in the file"
    assert component["modelCard"]["modelParameters"]["inputs"][0] == {"format": "scores: float [1, 8]"}


def test_the_bill_of_the_model_follows_the_schema(after: Path) -> None:
    bill = document(after, "model.cdx.json")
    assert cyclonedx_faults(bill) == []
    assert cyclonedx_faults({**bill, "metadata": {"component": {"type": "thing", "name": "m"}}})


def test_the_argument_refers_to_files_of_the_pack(after: Path, before: Path) -> None:
    for folder in (after, before):
        elements = {each["id"]: each for each in document(folder, "argument.json")["elements"]}
        for each in elements.values():
            assert {*each["supported_by"], *each["in_context_of"]} <= elements.keys()
            assert all((folder / name).exists() for name in each["files"])
            assert (each["kind"] == "solution") <= bool(each["files"])
        drawn = ElementTree.parse(folder / "argument.svg").getroot()
        assert {text.text.split(" ")[0] for text in drawn.iterfind("{*}text[@font-weight]") if text.text} == set(
            elements
        )
    assert [document(each, "argument.json")["elements"][0]["state"] for each in (before, after)] == ["not met", "open"]


def test_assumptions_boxes_and_rewrites_have_their_place() -> None:
    about = {
        "verdict": "assumed", "rules": [], "edition": {"name": "2026-11"}, "model": {"file": "<m>", "sha256": "0" * 64},
        "without": {"rules_without_theorem": []}, "theorems": [], "known_problems": [], "assumptions": [{}],
        "box": {"undecided": [], "shown": [{}]}, "rewrites": {"content": {"rewrites": [{}, {}]}},
        "derived_from": None, "properties": [], "suite": [],
    }  # fmt: skip
    document = json.loads(json.dumps(about), object_hook=lambda keys: SimpleNamespace(**keys))
    deviations = StatedDeviations("d.toml", "1" * 64, "2026-05-06", (DeviationDay("record-7", "a.b", "2027-01-02"),))
    document.conditions = Conditions("2026-11", sizes={"N": 2}, box=("x=[1,2]",), deviations=deviations)
    elements = {each.id: each for each in argument(document)}
    assert elements["G1"].in_context_of == ("C1", "C2", "A1")
    assert elements["G1"].text == (
        "The model <m> conforms to edition 2026-11 of the SONNX profile "
        "(for N=2, with x in [1, 2], deviations as of 2026-05-06), with the deviations record-7 until 2027-01-02"
    )
    assert elements["A1"].text == "1 condition on values at run time hold"
    assert (elements["G2"].state, elements["G4"].state, elements["G6"].state) == ("open", "met", "open")
    assert elements["S1"].supported_by == ("G2", "G3", "G4", "G5", "G6", "G7")
    assert (elements["Sn4"].text, elements["Sn5"].text) == ("1 assumption shown", "Record of 2 rewrites")
    assert elements["G5"].undeveloped


# ------------------------------------------------------------------ an earlier pack


def test_what_stands_of_an_earlier_pack(after: Path, before: Path) -> None:
    since, old, new = document(after)["since"], document(before), document(after)
    assert document(before)["since"] is None
    assert since["model"] == {
        "file": "as_exported.onnx", "sha256": old["model"]["sha256"], "same_canonical_form": False,
    }  # fmt: skip
    assert since["changed"] == ["model"]
    states = {each["evidence"]: each["state"] for each in since["evidence"]}
    assert states["results of the rules"] == "renewed by this pack"
    assert states["qualification of the tool"] == "stands"
    assert states["values, accuracy and behaviour of the model"] == "must be renewed"
    rows = [{row["rule"]: row["answers"] for row in each["rules"]} for each in (old, new)]
    for each in since["rules"]:
        assert (each["before"], each["now"]) == (rows[0].get(each["rule"]), rows[1].get(each["rule"]))
    assert {"no-default-values"} <= {each["rule"] for each in since["rules"]}


def test_the_same_model_changes_nothing(after: Path, tmp_path: Path) -> None:
    found = sonnx.audit(EXAMPLES / "conforming.onnx", since=after)
    since = json.loads(found.files["audit.json"])["since"]
    assert (since["changed"], since["rules"]) == ([], [])
    assert {each["state"] for each in since["evidence"]} == {"stands"}
    assert since["model"]["same_canonical_form"]


def test_a_pack_with_an_earlier_one_is_verified(
    after: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(after, tmp_path / "copy")
    assert run(["audit", "--verify", str(copy)]) == 0
    earlier = copy / "configuration" / "since" / "audit.json"
    earlier.write_bytes(earlier.read_bytes().replace(b'"fail"', b'"pass"'))
    capsys.readouterr()
    assert run(["audit", "--verify", str(copy)]) == 1
    assert "audit.json was changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "it has no audit.json"), ("no", "is not the document"), ("{}", "as this version writes it")],
)
def test_what_is_no_earlier_pack_is_misuse(
    content: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "audit.json").write_text(content)
    model = str(EXAMPLES / "conforming.onnx")
    assert run(["audit", model, "--output", str(tmp_path / "new"), "--since", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------ signatures


def keys(folder: Path, *names: str) -> Path:
    """New keys without a passphrase, and a file that allows all of them to sign."""
    lines = []
    for name in names:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True)
        lines.append(f"{name}@example {(folder / f'{name}.pub').read_text()}")
    (folder / "signers").write_text("".join(lines))
    return folder / "signers"


@SSH
def test_a_pack_is_signed_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signers, pack = keys(tmp_path, "own", "other"), tmp_path / "pack"
    model = str(EXAMPLES / "conforming.onnx")
    assert run(["audit", model, "--output", str(pack), "--sign", str(tmp_path / "own")]) == 0
    assert f"{sum(each.is_file() for each in pack.rglob('*'))} files" in capsys.readouterr().out
    assert run(["audit", "--verify", str(pack), "--signers", str(signers)]) == 0
    assert "; signed by a key in " in capsys.readouterr().out
    assert run(["audit", "--verify", str(pack)]) == 0
    assert "its signature was not verified" in capsys.readouterr().out
    stranger = tmp_path / "stranger"
    stranger.write_text(f"other@example {(tmp_path / 'other.pub').read_text()}")
    manifest = (pack / "manifest.json").read_bytes()
    for file, content, sentence in (
        (stranger, manifest, f"{SIGNATURE} is of no key in stranger"),
        (signers, manifest + b" ", f"{SIGNATURE} does not fit manifest.json"),
    ):
        (pack / "manifest.json").write_bytes(content)
        assert any(sentence in each for each in sonnx.verify(pack, model, file).content)
    (pack / "manifest.json").write_bytes(manifest)
    (pack / SIGNATURE).write_text("rubbish")
    assert sonnx.verify(pack, model, signers).content == (
        f"{SIGNATURE} is not as OpenSSH writes it: it has other text than one signature",
    )
    (pack / SIGNATURE).unlink()
    assert sonnx.verify(pack, model, signers).content == (f"the pack has no signature: {SIGNATURE} is missing",)
    with pytest.raises(sonnx.UsageError, match=r"the file of signers .* does not exist"):
        sonnx.verify(pack, model, tmp_path / "nobody")


@SSH
@pytest.mark.parametrize("content", [None, "", "-----BEGIN OPENSSH PRIVATE KEY-----\nrubbish\n"])
def test_a_key_that_cannot_sign_is_misuse_before_anything_is_written(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "key").write_text(content)
    arguments = ["audit", str(EXAMPLES / "conforming.onnx"), "--output", str(tmp_path / "pack")]
    assert run([*arguments, "--sign", str(tmp_path / "key")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "does not exist" in said or "is not a key that OpenSSH reads" in said
    assert not (tmp_path / "pack").exists()


def test_signatures_without_openssh_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(["audit", "model.onnx", "--output", str(tmp_path / "pack"), "--sign", "key"]) == 2


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    model = str(EXAMPLES / "conforming.onnx")
    assert run(["audit", model, "--output", str(tmp_path / "pack"), "--signers", "some"]) == 2
    assert run(["audit", "--verify", str(tmp_path), "--since", "some"]) == 2
