"""The commands of the tutorial for vendors in a folder of their own, and its program in Python."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonnx.cli.main import run
from sonnx.executor.distance import NAN, ZERO
from sonnx.suite.archive import StoredCase, Suite, read_cases
from sonnx.suite.judge import differences
from sonnx.suite.making import MakeOperators, make_suite
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.result import read_run
from sonnx.suite.runs import implementation, judge_outputs
from tests.support.cases import DEEP
from tests.support.paths import ROOT

TUTORIAL = (ROOT / "docs" / "tutorial-vendor.md").read_text("utf-8")
SAID = " ".join(TUTORIAL.split())
OTHER_WAYS = "## Other ways"
EXITS = {"sonnx suite judge suite outputs": 3, "sonnx suite judge suite wrong_outputs": 1, "sonnx audit": 0}
"""The exit codes of commands that begin so; that of any other is 0."""


def commands(text: str) -> list[str]:
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if not line.startswith("python -m pip")]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_commands_of_the_tutorial_do_what_it_says(
    copied_parts: MakeOperators, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One after the other, from making the suite to the pack with the report.

    In a run that is not deep the suite is copied, and there is no page and no pack.
    """
    shutil.copy(ROOT / "examples" / "conforming.onnx", tmp_path / "model.onnx")
    listed = commands(TUTORIAL.partition(OTHER_WAYS)[0])
    assert {line.split()[0] for line in listed} == {"sonnx", "cp", "cc", "mkdir", "sed", "./kernels", "./wrong"}
    monkeypatch.chdir(tmp_path)
    for line in listed:
        program, *words = shlex.split(line)
        wanted = next((code for start, code in EXITS.items() if line.startswith(start)), 0)
        if not DEEP and (words[0] == "audit" or "html" in words):
            continue
        if not DEEP and words[:2] == ["suite", "make"]:
            make_suite(tmp_path / "suite", MakeOptions(operator=("Relu",), harness="c"), copied_parts)
            continue
        code = run(words) if program == "sonnx" else subprocess.run(line, shell=True).returncode
        assert code == wanted, f"{line}: {capfd.readouterr().err}"
    suite_run = read_run("run.json", (tmp_path / "run.json").read_bytes())
    counts = suite_run.operators["Relu"]
    assert f"{counts.within} data sets are as expected, {counts.refused} are refused" in SAID
    assert not counts.outside and not counts.faults
    deviations = judge_outputs(tmp_path / "suite", tmp_path / "wrong_outputs").deviations
    number = {each.kind: each.number for each in deviations}
    assert f"A NaN becomes 0 in {number[NAN]} data sets" in SAID
    assert f"That -0 becomes +0 in {number[ZERO]} data sets" in SAID
    assert {each.kind for each in deviations if each.explained} == {ZERO}


def test_the_program_in_python(relu: Suite) -> None:
    program = f"{sys.executable} {ROOT / 'examples' / 'suite' / 'relu.py'}"
    used = implementation(RunOptions(program=f"{program} {{model}} {{inputs}} {{outputs}}"))
    stored = next(
        each
        for each in read_cases(relu, "Relu")
        if isinstance(each, StoredCase) and len(each.case.sets) > 1 and "(float " in each.case.call
    )
    for at in range(2):
        given = used.load(stored)(stored.inputs(at), at)
        assert not differences(0, given[0], stored.arrays(at, "output")[0], None)
    assert "`examples/suite/relu.py`" in TUTORIAL
