"""Manual pages say what the help texts say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sonnx.cli import help_texts
from sonnx.cli.main import nested, parser
from tools import manual


def test_each_command_has_a_page_with_each_option_and_code(tmp_path: Path) -> None:
    assert manual.main([str(tmp_path)]) == 0
    _, *commands = nested(parser())
    names = {f"{command.prog.replace(' ', '-')}.1" for command in commands} | {"sonnx.1"}
    assert {path.name for path in tmp_path.iterdir()} == names
    for command in commands:
        text = (tmp_path / f"{command.prog.replace(' ', '-')}.1").read_text("utf-8").replace("\\-", "-")
        assert all(option in text for action in command._actions for option in action.option_strings)
        assert all(line in text for line in help_texts.texts()[command.prog.partition(" ")[2]]["examples"])


def test_the_pages_are_read_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    manual.main([str(tmp_path)])
    for path in tmp_path.iterdir():
        done = subprocess.run(
            ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), path.name
        shown = re.sub(".\b", "", done.stdout)  # bold is printed twice
        assert ("EXIT STATUS" in shown) == (path.name != "sonnx.1")
