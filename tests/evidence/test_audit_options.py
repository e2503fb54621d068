"""Every option of `audit` is stated in audit.json, and a pack made with it is verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonnx
from sonnx.cli.main import run
from sonnx.evidence.options import AuditOptions
from tests.evidence.test_audit import CONFORMING, EXPORTED, prepare
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
    assert sonnx.verify("pack") == ()
    options = stated(Path("pack"))
    assert {name for name, value in options.items() if value not in (None, False, {}, [])} == TEXTS.keys()
    assert AuditOptions.from_json(options).as_json(complete=True) == options


def test_a_pack_with_the_files_of_other_commands_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    controller = CONFORMING.with_name("controller.onnx")
    shutil.copy(controller.with_suffix(".vnnlib"), "controller.vnnlib")
    fix = ["fix", str(controller), "--output", "model.onnx", "--report", "record.json", "--samples", "0"]
    assert run(fix) == 0
    assert run(["verify", "model.onnx", "controller.vnnlib", "--certificate", "controller.json"]) == 0
    assert run(["prove", "--select", "order.total", "--proofs", "proofs", "--jobs", "0"]) == 0
    assert run(["suite", "make", "cases", "--operator", "Constant"]) == 0
    suite = ["suite", "run", "cases", "--runtime", "reference", "--format", "json", "--output", "run.json"]
    assert run(suite) == 0
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
    assert sonnx.verify("pack") == ()
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
