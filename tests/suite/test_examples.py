"""The programs of the tutorial for vendors give what is expected, and refuse what they do not implement."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sonnx.executor.distance import NAN
from sonnx.executor.runtimes import Failure
from sonnx.model.reader import read
from sonnx.suite.archive import StoredCase, Suite, read_cases
from sonnx.suite.cases import make_suite
from sonnx.suite.judge import differences
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.runs import implementation
from tests.support.paths import ROOT

TUTORIAL = (ROOT / "docs" / "tutorial-vendor.md").read_text("utf-8")
PROGRAMS = ROOT / "examples" / "suite"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return make_suite(tmp_path_factory.mktemp("made") / "suite", MakeOptions(operator=("Relu",)))


def first_sets(suite: Suite, element: str, number: int) -> list[tuple[StoredCase, int]]:
    cases = [
        each
        for each in read_cases(suite, "Relu")
        if isinstance(each, StoredCase) and each.case.sets and len(read(each.model).graph.nodes) == 1
    ]
    return [(each, at) for each in cases if f"({element} " in each.case.call for at in range(len(each.case.sets))][
        :number
    ]


def require_expected(program: str, suite: Suite, element: str, number: int) -> None:
    used = implementation(RunOptions(program=f"{program} {{model}} {{inputs}} {{outputs}}"))
    sets = first_sets(suite, element, number)
    assert len(sets) == number
    for stored, at in sets:
        given = used.load(stored)(stored.inputs(at), at)
        assert not differences(0, given[0], stored.arrays(at, "output")[0], None)


def test_the_program_in_python(suite: Suite) -> None:
    require_expected(f"{sys.executable} {PROGRAMS / 'relu.py'}", suite, "float", 2)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_program_in_c(suite: Suite, tmp_path: Path) -> None:
    program = tmp_path / "relu"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", program, PROGRAMS / "relu.c"], check=True)
    require_expected(str(program), suite, "float", 60)
    [(stored, at)] = first_sets(suite, "double", 1)
    refuses = implementation(RunOptions(program=f"{program} {{model}} {{inputs}} {{outputs}}")).load(stored)
    with pytest.raises(Failure, match="element type 11 is not implemented"):
        refuses(stored.inputs(at), at)


def test_the_tutorial_says_how_many_data_sets_are_of_float(suite: Suite) -> None:
    floats = len(first_sets(suite, "float", 10_000))
    said = f"{floats} data sets are as expected, {suite.parts[0].sets - floats} are refused"
    assert said in " ".join(TUTORIAL.split())


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_change_that_the_tutorial_proposes_loses_a_nan(suite: Suite, tmp_path: Path) -> None:
    text = (PROGRAMS / "relu.c").read_text("utf-8")
    assert "Change `x < 0` to `!(x > 0)`" in " ".join(TUTORIAL.split())
    (tmp_path / "changed.c").write_text(text.replace("x < 0", "!(x > 0)"), "utf-8")
    subprocess.run(["cc", "-O2", "-o", tmp_path / "changed", tmp_path / "changed.c"], check=True)
    used = implementation(RunOptions(program=f"{tmp_path / 'changed'} {{model}} {{inputs}} {{outputs}}"))
    stored, at = next(
        (each, at) for each, at in first_sets(suite, "float", 10_000) if np.isnan(each.inputs(at)["x0"]).any()
    )
    given = used.load(stored)(stored.inputs(at), at)
    assert NAN in {each.kind for each in differences(0, given[0], stored.arrays(at, "output")[0], None)}
