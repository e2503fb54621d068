"""The known defects of onnxruntime, by `compare --every-node` and by `suite run`, both with default options."""

from __future__ import annotations

from pathlib import Path

import pytest

import sonnx
from sonnx.executor.comparison import CLASS_NODE
from sonnx.suite.options import RunOptions
from sonnx.suite.runs import run_suite
from tests.executor.test_class_inputs import arg_max, maximum, reduce_max
from tests.support.cases import DEEP
from tests.support.shared_suites import shared_suite, with_few_cases

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
DEFECTS = {
    "ArgMax": (arg_max([6, 10]), "integer", ("value", "integer")),
    "ReduceMax": (reduce_max([6, 10]), "NaN", ("NaN",)),
    "Max": (maximum(5), "sign of zero", ("sign of zero",)),
}
"""A model, the kind in a comparison, and the kinds in a run of a suite."""


@pytest.mark.parametrize("operator", DEFECTS if DEEP else ["ReduceMax"])
def test_a_comparison_of_every_node_shows_it(operator: str) -> None:
    data, kind, _ = DEFECTS[operator]
    report = sonnx.compare(data, every_node=True)
    [row] = [row for row in report.rows if row.way == CLASS_NODE]
    assert row.classes is not None
    assert kind in {each.kind for each in row.classes.deviations if not each.explained}
    assert report.exit_code == (0 if operator == "Max" else 1)
    assert kind in report.to_text()


@pytest.mark.parametrize("operator", DEFECTS if DEEP else ["ArgMax"])
def test_a_run_of_a_suite_shows_it(operator: str, shared_folder: Path, tmp_path: Path) -> None:
    suite = shared_suite(shared_folder, operator)
    if not DEEP:
        suite = with_few_cases(suite, tmp_path / "few", every=6)
    found = run_suite(Path(suite.folder), RunOptions())
    assert {*DEFECTS[operator][2]} & {each.kind for each in found.deviations if not each.explained}
    assert found.exit_code == 1
