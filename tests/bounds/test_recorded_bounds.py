"""The bounds of many small networks are those that are recorded, except for the last digits."""

from __future__ import annotations

import math

import pytest

from tests.support.cases import DEEP
from tests.support.recorded_bounds import RECORDED, groups, lines, networks

TOLERANCE = 1e-7
"""Relative: products of matrices and exponential functions of other machines differ by less."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    """The recorded lines by the names of the networks."""
    return {line.partition(":")[0]: line for line in RECORDED.read_text("utf-8").splitlines()}


@pytest.mark.parametrize("group", groups())
def test_bounds_are_those_recorded(group: str, recorded: dict[str, str]) -> None:
    """`make recorded-bounds` records them again; then each changed line needs a reason."""
    now = lines(group, part=not DEEP)
    assert [
        (line, recorded.get(name, "")) for name, line in now.items() if not same(line, recorded.get(name, ""))
    ] == []


def test_every_recorded_network_is_still_made(recorded: dict[str, str]) -> None:
    assert recorded.keys() <= {name for group in groups() for name, _ in networks(group)}


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
