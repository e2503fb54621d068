"""A few faults of the system in each command; `make fault-campaign` takes hundreds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import faults
from tests.support.cases import examples

NUMBER = examples(2, 12)
"""Calls that fail, of each command."""


@pytest.mark.parametrize("name", [name for name in faults.LINES if name not in faults.SLOW])
def test_a_call_that_fails_leaves_nothing_half_written(name: str) -> None:
    for outcome, reason in faults.tried(name, NUMBER, 0):
        assert not reason, f"{outcome.failed} ({outcome.code}): {reason}"


def test_what_a_fault_would_leave_is_seen(tmp_path: Path) -> None:
    expected = faults.Outcome(0, "", 9, "", {"out.json": b"whole", "values/a": b"a", "values/b": b"b"})
    again = expected
    for outcome, word in (
        (expected._replace(code=2, said="Traceback (most recent"), "traceback"),
        (expected._replace(code=-9), "ends with -9"),
        (expected._replace(code=4, said="sonnx: the tool failed", failed="write 'x': ENOSPC"), "ends with 4"),
        (expected._replace(files={"new.onnx": b"ha"}), "half written"),
        (expected._replace(files={".out.json.1f": b""}), "is left"),
        (expected._replace(files={"values/a": b"a"}), "lacks"),
    ):
        assert word in faults.wrong_with("", expected, outcome, again)
    assert "the next run ends with 2" in faults.wrong_with("", expected, expected, again._replace(code=2))
    assert "of the next run differs" in faults.wrong_with("", expected, expected, again._replace(files={}))
    assert not faults.wrong_with("", expected, expected, again)
