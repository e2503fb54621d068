"""Completion offers what the help of each command says, in the shell it is for."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonnx.cli.commands.tool import SHELLS
from sonnx.cli.main import run

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "sonnx.bash"
    printed = subprocess.run(
        [sys.executable, "-m", "sonnx", "tool", "completion", "bash"], capture_output=True, check=True
    )
    path.write_bytes(printed.stdout)
    return path


def offered(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(map(shlex.quote, ["sonnx", *words]))
    asked = f". {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_sonnx; echo ${{COMPREPLY[@]-}}"
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        run([*arguments, "--help-all"])
    return capsys.readouterr().out


def test_commands_options_and_choices_are_those_of_the_help(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^  ([a-z-]+)\s", helped(capsys), flags=re.MULTILINE)
    assert len(commands) > 10
    assert offered(script, "") == commands
    for command in ("check", "prove", "theorems"):
        said = helped(capsys, command)
        options = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", said, flags=re.MULTILINE)
        assert sorted(offered(script, command, "--")) == sorted([*options, "--help", "--help-all"])
        for option, choices in re.findall(r"(--[a-z-]+) \{([^}]*)\}", said):
            assert offered(script, command, option, "") == choices.replace("\n", "").replace(" ", "").split(",")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ch"], ["check"]),
        (["check", "--fo"], ["--format"]),
        (["check", "--format", "j"], ["json", "junit"]),
        (["tool", "completion", "b"], ["bash"]),
        (["check", "model"], ["model.onnx"]),
        (["check", "--output", "mod"], ["model.onnx"]),
        (["audit", "--output", ""], ["folder"]),
    ],
)
def test_the_begun_word_decides(
    script: Path, words: list[str], found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").touch()
    (tmp_path / "folder").mkdir()
    assert offered(script, *words) == found


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_its_shell(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert run(["tool", "completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, check=True)
    assert not done.stderr
