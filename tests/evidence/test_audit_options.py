"""Every option of `audit` is stated in audit.json, and a pack made with it is verified."""

from __future__ import annotations

import hashlib
import html
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec import structs

import sonnx
from sonnx.cli.main import run
from sonnx.evidence import identity
from sonnx.evidence.options import AuditOptions
from sonnx.properties import certificate_checker
from tests.evidence.test_audit import CONFORMING, EXPORTED, prepare
from tests.support import companions
from tests.support.editions import NEWEST

TEXTS: dict[str, list[str]] = {
    "edition": ["--edition", NEWEST],
    "bind": ["--bind", "N=3"],
    "input_shapes": ["--input-shape", "floor=1,7"],
    "limits": ["--limit", "findings=1,steps=100000"],
    "tailoring": ["--tailoring", "t.toml"],
    "deviations": ["--deviations", "d.toml"],
    "date": ["--date", "2026-11-21"],
    "accept_assumptions": ["--accept-assumptions"],
    "strict_versions": ["--strict-versions"],
    "box": ["--box", "scores=low.npy:high.npy", "--box", "floor=[0,1]"],
    "since": ["--since", "earlier"],
    "derived_from": ["--derived-from", "model.onnx"],
}
"""The texts of options that one model takes together."""
BY_THEMSELVES = {"rewrites", "proofs", "properties", "suites"}
"""Options that need the files of other commands; `make_controller` makes a pack with them."""


def test_a_pack_with_every_option_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for name, values in (("low", np.zeros((3, 8))), ("high", np.ones((3, 8)))):
        np.save(f"{name}.npy", values.astype(np.float32))
    assert run(["audit", "model.onnx", "--output", "earlier"]) == 1
    texts = [text for option in TEXTS.values() for text in option]
    assert run(["audit", "model.onnx", "--output", "pack", *texts]) == 1
    assert sonnx.verify("pack").exit_code == 0
    options = stated(Path("pack"))
    assert {name for name, value in options.items() if value not in (None, False, {}, [])} == TEXTS.keys()
    assert AuditOptions.from_json(options).as_json(complete=True) == options


def test_a_pack_with_the_files_of_other_commands_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_folder: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    controller = CONFORMING.with_name("controller.onnx")
    shutil.copy(controller.with_suffix(".vnnlib"), "controller.vnnlib")
    fix = ["fix", str(controller), "--output", "model.onnx", "--report", "record.json", "--samples", "0"]
    assert run(fix) == 0
    assert run(["verify", "model.onnx", "controller.vnnlib", "--certificate", "controller.json"]) == 0
    assert run(["theorems", "--select", "order.total", "--proofs", "proofs", "--jobs", "0"]) == 0
    companions.share(shared_folder)
    Path("run.json").write_bytes(companions.files()["run.json"])
    files = [
        "--rewrites",
        "record.json",
        "--property",
        "controller.vnnlib",
        "--proofs",
        "proofs",
        "--suite",
        "run.json",
    ]
    assert run(["audit", "model.onnx", "--output", "pack", *files]) == 0
    assert sonnx.verify("pack").exit_code == 0
    assert {name for name, value in stated(Path("pack")).items() if value} == BY_THEMSELVES | {"edition"}


def test_no_option_is_left_out() -> None:
    known = [option.name for option, _ in AuditOptions.arguments()]
    assert sorted(known) == sorted([*TEXTS, *BY_THEMSELVES])


def test_the_command_of_a_pack_gives_the_pack_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    pack = sonnx.audit("model.onnx", tailoring="t.toml", bind={"N": 3}, limits={"findings": 1})
    pack.write(tmp_path / "pack", {})
    shutil.copy(EXPORTED, "pack/model.onnx")
    monkeypatch.chdir(tmp_path / "pack")
    command = json.loads(pack.files["audit.json"])["command"]
    assert run([*command[1:], "--output", "again"]) == 1
    assert Path("again/audit.json").read_bytes() == pack.files["audit.json"]


def stated(pack: Path) -> dict[str, Any]:
    options: dict[str, Any] = json.loads((pack / "audit.json").read_bytes())["options"]
    return options


def test_another_environment_is_told_from_changed_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pack of another machine is reproduced there with 3; one that was changed is not, here or there."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFORMING, "model.onnx")
    packages = identity.about_packages()
    elsewhere = (structs.replace(packages[0], version="0.0.1"), *packages[2:])
    with monkeypatch.context() as patched:
        patched.setattr("sonnx.evidence.identity.about_packages", lambda: elsewhere)
        patched.setattr("platform.python_version", lambda: "3.99.0")
        assert run(["audit", "model.onnx", "--output", "there"]) == 0
    capsys.readouterr()
    assert run(["audit", "--verify", "there"]) == 3
    said = capsys.readouterr().out
    assert "verified, content reproduced" in said
    assert "NOT verified" not in said
    assert f"the package {packages[0].name} is {packages[0].version} here, 0.0.1 there" in said
    assert f"the package {packages[1].name} {packages[1].version} is not among those of the pack" in said
    assert "3.99.0 there" in said
    report = Path("there/report.json")
    report.write_text(report.read_text().replace('"pass"', '"fail"', 1))
    manifest = json.loads(Path("there/manifest.json").read_text())
    manifest["files"]["report.json"] = hashlib.sha256(report.read_bytes()).hexdigest()
    Path("there/manifest.json").write_text(json.dumps(manifest))
    assert run(["audit", "--verify", "there"]) == 1
    said = capsys.readouterr().out
    assert "NOT verified, report.json differs from a fresh run" in said
    assert "environment differs: " in said


def test_the_statement_says_what_the_result_holds_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packs that differ in the verdict differ in the stated conditions: of sizes, and of a box."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(DIVISION), "model.onnx")
    boxes = [[], ["--box", "a=[1,2]", "--box", "b=[1,2]"], ["--box", "a=[1,2]", "--box", "b=[0,2]"]]
    said, verdicts = [], []
    for number, box in enumerate(boxes):
        run(["audit", "model.onnx", "--output", f"pack{number}", *box])
        document = json.loads(Path(f"pack{number}/audit.json").read_text())
        statement = html.unescape(Path(f"pack{number}/statement.html").read_text())
        [top, *_] = json.loads(Path(f"pack{number}/argument.json").read_text())["elements"]
        verdicts.append(document["verdict"])
        said.append(document["conditions"]["words"])
        assert said[-1] in statement
        assert ("does not depend on values at run time" in statement) is False
        assert ("with a in [1, 2]" in top["text"]) == bool(box)
    assert verdicts == ["assumed", "pass", "fail"]
    assert len({*said}) == 3


DIVISION = """<ir_version: 8, opset_import: ["" : 14]> g (int32[2] a, int32[2] b) => (int32[2] c) { c = Div(a, b) }"""


def test_a_certificate_for_other_sizes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(ROW), "model.onnx")
    Path("p.vnnlib").write_text(PROPERTY)
    assert run(["verify", "model.onnx", "p.vnnlib", "--bind", "N=1", "--unchecked", "--certificate", "p.json"]) == 0
    assert json.loads(Path("p.json").read_text())["conditions"]["sizes"] == {"N": 1}
    checker = Path(certificate_checker.__file__)
    shown = subprocess.run(
        [sys.executable, "-I", str(checker), "model.onnx", "p.vnnlib", "p.json"], capture_output=True, check=False
    )
    assert shown.returncode == 0
    capsys.readouterr()
    assert run(["audit", "model.onnx", "--output", "two", "--bind", "N=2", "--property", "p.vnnlib"]) == 2
    assert "is about one row, in which dimension 0 of 'x' is 1; in the pack it is 2" in capsys.readouterr().err
    assert not Path("two").exists()
    run(["audit", "model.onnx", "--output", "one", "--bind", "N=1", "--property", "p.vnnlib"])
    [about] = json.loads(Path("one/audit.json").read_text())["properties"]
    assert "for N=1" in about["conditions"]
    assert "for N=1" in Path("one/statement.html").read_text()


ROW = """<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 1] y)
<float[2, 1] W = {0.5, 0.25}> { y = MatMul(x, W) }"""
PROPERTY = """(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real)
(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= X_1 0)) (assert (<= X_1 1)) (assert (>= Y_0 2))"""
