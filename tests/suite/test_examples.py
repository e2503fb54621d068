"""The programs of the tutorial for vendors give what is expected, and refuse what they do not implement."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonnx.executor.runtimes import Failure
from sonnx.suite.archive import Stored, Suite, read_cases
from sonnx.suite.cases import make_suite
from sonnx.suite.judge import differences
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.runs import implementation
from tests.support.paths import ROOT

PROGRAMS = ROOT / "examples" / "suite"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return make_suite(tmp_path_factory.mktemp("made") / "suite", MakeOptions(operator=("Relu",)))


def first_sets(suite: Suite, element: str, number: int) -> list[tuple[Stored, int]]:
    cases = [each for each in read_cases(suite, "Relu") if isinstance(each, Stored) and each.case.sets]
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
