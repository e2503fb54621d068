"""The page with five conversions: its programs run, and its commands answer what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from sonnx.cli import main
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "conversions.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n?)+)", PAGE, re.MULTILINE))
EXPECTED_EXIT = 0


def test_there_are_five() -> None:
    assert len(SECTIONS) == 5


@pytest.mark.parametrize("title", SECTIONS)
def test_a_conversion_is_answered_as_shown(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    for model in (ROOT / "tests" / "models").glob("*.onnx"):
        shutil.copy(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    for program in re.findall(r"```python\n(.*?)```", SECTIONS[title], re.DOTALL):
        exec(compile(program, title, "exec"), {})
    [(command, shown)] = re.findall(r"```text\n\$ sonnx (.*)\n(.*)\n…\n```", SECTIONS[title])
    capsys.readouterr()
    assert main.run(shlex.split(command)) == EXPECTED_EXIT
    assert capsys.readouterr().out.startswith(shown)
