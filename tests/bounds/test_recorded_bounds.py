"""The bounds of many small networks are those that are recorded, except for the last digits."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest

from tests.support.recorded_bounds import RECORDED, groups, lines

TOLERANCE = 1e-7
"""Relative: products of matrices and exponential functions of other machines differ by less."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[str]]:
    """The recorded lines of each group."""
    made = defaultdict[str, list[str]](list)
    for line in RECORDED.read_text("utf-8").splitlines():
        made[line.partition(":")[0].partition(",")[0].rpartition(" ")[0]].append(line)
    return made


@pytest.mark.parametrize("group", groups())
def test_bounds_are_those_recorded(group: str, recorded: dict[str, list[str]]) -> None:
    """`make recorded-bounds` records them again; then each changed line needs a reason."""
    now = lines(group)
    assert [line.partition(":")[0] for line in now] == [line.partition(":")[0] for line in recorded[group]]
    assert [pair for pair in zip(now, recorded[group], strict=True) if not same(*pair)] == []


def same(one: str, two: str) -> bool:
    """Whether two lines have the same words and almost the same numbers."""
    pairs = list(zip(one.split(), two.split(), strict=False))
    return len(one.split()) == len(two.split()) and all(a == b or close(a, b) for a, b in pairs)


def close(one: str, two: str) -> bool:
    """Whether two words are numbers that differ by rounding."""
    try:
        return math.isclose(float(one.rstrip(";")), float(two.rstrip(";")), rel_tol=TOLERANCE)
    except ValueError:
        return False
