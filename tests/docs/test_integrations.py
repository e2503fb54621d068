"""The hook, the action and the example of the page do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sonnx.cli.main import parser
from tests.support.editions import NEWEST
from tests.support.paths import ROOT

HOOK = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
ACTION = (ROOT / "action.yml").read_text("utf-8")
PAGE = (ROOT / "docs" / "how-to-engineer.md").read_text("utf-8")


def test_the_hook_is_a_command_for_models_only() -> None:
    entry = re.findall(r"^  entry: sonnx (.*)$", HOOK, re.MULTILINE)
    [pattern] = re.findall(r"^  files: (.*)$", HOOK, re.MULTILINE)
    assert callable(parser().parse_args([*shlex.split(entry[0]), "a.onnx", "b.onnx"]).command)
    assert re.search(pattern, "models/a.onnx")
    assert not re.search(pattern, "models/a.onnx.py")
    [name] = re.findall(r"^- id: (.*)$", HOOK, re.MULTILINE)
    assert f"id: {name}" in PAGE


def script() -> str:
    """The last script of the action, as the runner gives it to bash."""
    text = ACTION.rpartition("run: |\n")[2]
    assert "${{" not in text, "no input is put into the script"
    return textwrap.dedent(text)


def performed(folder: Path, models: str, options: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "bin").mkdir(exist_ok=True)
    shim = folder / "bin" / "sonnx"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sonnx "$@"\n')
    shim.chmod(0o755)
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "MODELS": models, "OPTIONS": options,
        "SARIF": "out.sarif", "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output",
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "code"), [("conforming", 0), ("as_exported", 1)])
def test_the_action_judges_and_writes_all_it_says(tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / "a model.onnx").write_bytes((ROOT / "examples" / f"{name}.onnx").read_bytes())
    done = performed(tmp_path, "a model.onnx\n", f"--edition {NEWEST} --strict-versions")
    assert done.returncode == code
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    [run] = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert run["invocations"][0]["exitCode"] == code
    assert "a model.onnx" in (tmp_path / "summary.md").read_text()
    assert all(line.startswith("::") for line in done.stdout.splitlines())


def test_the_action_runs_nothing_of_its_inputs(tmp_path: Path) -> None:
    done = performed(tmp_path, "$(touch one)\n; touch two\n--output", "--edition $(touch${IFS}three)")
    assert done.returncode == 2
    assert not {"one", "two", "three"} & {path.name for path in tmp_path.iterdir()}


def test_the_example_for_programs_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    program = PAGE.partition("## From a program")[2].partition("```python\n")[2].partition("```")[0]
    exec(compile(program, "how-to-engineer.md", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("fail ")
    assert "fail Max.broadcastable at graph/node[0]: " in out
    assert "deviations.toml cannot be read: No such file or directory" in out
