"""The ten tasks of a new user: each command of the page, in order, ends as the page says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from sonnx.cli.main import run
from tests.support.cases import DEEP
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "tasks.md").read_text("utf-8")
CODES = {
    "sonnx check classifier.onnx": 1,
    "sonnx check classifier.onnx controller.onnx --format json --output baseline.json": 1,
    "sonnx compare classifier.fixed.onnx --every-node": 1,
    "sonnx prove symbolic.onnx": 1,
}
"""The commands that do not end with 0."""
SHORTER = {} if DEEP else {"sonnx compare classifier.fixed.onnx --every-node": "--class-runs 3"}
"""Options that shorten a command of many seconds in a run that is not deep."""
ELSEWHERE = {"python -m pip install ."}
"""tests/package/test_wheel.py installs the wheel."""
MADE = ("classifier.fixed.onnx", "baseline.json", "values/outputs.npz", "evidence/index.html")
TITLES = ("install", "check", "understand", "correct", "gate", "compare", "prove", "bound", "write", "verify")


def commands() -> list[str]:
    return [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]


def test_there_are_ten() -> None:
    titles = re.findall(r"^## (\d+)\. (\w+)", PAGE, re.MULTILINE)
    assert [(int(number), word.lower()) for number, word in titles] == list(enumerate(TITLES, 1))


def test_each_task_is_done_at_the_first_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    for path in [*(ROOT / "examples").glob("*.onnx"), ROOT / "examples" / "controller.vnnlib"]:
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in commands():
        if command not in ELSEWHERE:
            words = [*shlex.split(command)[1:], *SHORTER.get(command, "").split()]
            assert run(words) == CODES.get(command, 0), command
            said = capsys.readouterr()
            assert said.out or said.err.startswith("wrote "), command
            assert all(line.startswith("wrote ") for line in said.err.splitlines()), command
    assert [name for name in MADE if not Path(name).exists()] == []


def test_the_report_prints_the_command_that_corrects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that the page has may bind the batch otherwise; both leave nothing."""
    shutil.copy(ROOT / "examples" / "classifier.onnx", tmp_path)
    monkeypatch.chdir(tmp_path)
    run(["check", "classifier.onnx"])
    [line] = re.findall(r"^  sonnx (fix classifier\.onnx \S+ \S+)", capsys.readouterr().out, re.MULTILINE)
    assert run(line.split()) == 0
