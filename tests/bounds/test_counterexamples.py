"""Assumptions decided on parts of a box, with answers of bounds and executor that are known in advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from sonnx.base.errors import ErrorCondition
from sonnx.bounds import counterexamples
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.counterexamples import Decided, decide_on_parts

POSITIVE, SMALL = ("node 'a'", "positive"), ("node 'b'", "small")
FLOATS, INTEGERS = {"x": np.dtype(np.float32)}, {"x": np.dtype(np.int32)}


def interval(low: Any, high: Any) -> Box:
    return {"x": Interval(np.array(low, float), np.array(high, float))}


class Bounds:
    """Shows both assumptions on a part that is at least as narrow, away from a value; counts the parts it is asked."""

    def __init__(self, widest: float, except_at: float = np.inf, size: int = 1) -> None:
        self.widest, self.except_at, self.size, self.asked = widest, except_at, size, 0

    def __call__(self, part: Box) -> tuple[set[tuple[str, str]], int]:
        self.asked += 1
        low, high = part["x"].low, part["x"].high
        shown = (high - low).max() <= self.widest and not (low <= self.except_at).all() & (self.except_at <= high).all()
        return ({POSITIVE, SMALL} if shown else set()), self.size


def never_refused(_: Mapping[str, Any]) -> None:
    """An executor that computes every input."""


def refuses(place: str, rule: str, below: float) -> Any:
    """An executor that refuses inputs below a number."""

    def run(point: Mapping[str, Any]) -> None:
        if (point["x"] < below).any():
            raise ErrorCondition(rule, f"{place}: x = {point['x'].min():g}")

    return run


def decided(box: Box, shown_on: Any, run: Any = never_refused, types: Any = FLOATS) -> Decided:
    return decide_on_parts(box, types, [POSITIVE, SMALL], shown_on, run)


def test_parts_that_show_everything() -> None:
    """[0, 4] is halved until parts are 1 wide: the whole box, which is not bounded again, 2 halves, 4 quarters."""
    bounds = Bounds(1.0)
    made = decided(interval([0], [4]), bounds)
    assert (made.shown, made.failing, made.undecided) == ({POSITIVE, SMALL}, {}, {})
    assert bounds.asked == 2 + 4


def test_what_no_part_shows_has_a_share_and_a_place() -> None:
    """Everywhere but in the part around 3.9, which is halved until 64 parts are analysed."""
    made = decided(interval([0], [4]), Bounds(4.0, except_at=3.9))
    assert made.shown == set()
    undecided = made.undecided[POSITIVE]
    parts = np.log2(1 / undecided.share)
    assert parts == int(parts)
    width = 4 * undecided.share
    low = np.floor(3.9 / width) * width
    assert undecided.part == f"element 0 of 'x' is in [{low:.9g}, {low + width:.9g}]"
    assert str(undecided) == f"undecided on {undecided.share:.2%} of the box, as where {undecided.part}"


@pytest.mark.parametrize(("size", "asked"), [(1, 63), (2**25, 2), (2**26, 1), (2**24, 4)])
def test_the_work_is_limited(size: int, asked: int) -> None:
    """By the parts, and by the elements that were bounded: no part is bounded once there were 2^26."""
    bounds = Bounds(0.0, size=size)
    made = decided(interval([0], [4]), bounds)
    assert bounds.asked == asked
    assert {each.share for each in made.undecided.values()} == {1.0}


def test_the_part_that_is_named_is_the_first() -> None:
    made = decided(interval([0, -1], [4, -1]), Bounds(0.0, size=2**25))
    assert made.undecided[SMALL].part == "element 0 of 'x' is in [2, 4]"
    assert made.undecided[SMALL].share == 1.0


def test_a_refused_input_is_a_counterexample_of_its_node_and_rule_only() -> None:
    made = decided(interval([-1], [3]), Bounds(1.0), refuses("node 'a'", "positive", 0.0))
    assert str(made.failing[POSITIVE]) == ("exact values for an input of the box, 'x' = [-1], break it: x = -1")
    assert made.shown == {SMALL}
    other = decided(interval([-1], [3]), Bounds(1.0), refuses("node 'c'", "positive", 0.0))
    assert (other.failing, other.shown) == ({}, {POSITIVE, SMALL})


def test_only_points_inside_the_part_and_of_the_type_are_run() -> None:
    """Of integers in [1, 2] the middle is 1; of [0.1, 0.2] and [0, 1] in float the ends 0.1 and 0.2 are no floats."""
    points = list[Any]()
    run = lambda point: points.append(point["x"].tolist())  # noqa: E731
    decided(interval([1], [2]), Bounds(9.0), run, INTEGERS)
    assert points[:3] == [[1], [1], [2]]
    points.clear()
    decided(interval([0.1, 0.0], [0.2, 1.0]), Bounds(9.0), run)
    assert all(0.1 <= x <= 0.2 and 0 <= y <= 1 for x, y in points)


def test_a_long_part_names_eight_elements() -> None:
    many = interval([0] * 9, [1] * 9)
    part = interval([0.5] * 9, [1] * 9)
    told = counterexamples._part(part, many)
    assert told.endswith("element 7 of 'x' is in [0.5, 1], and 1 more")
    assert counterexamples._part(interval([0] * 8, [0.5] * 8), interval([0] * 8, [1] * 8)).endswith("[0, 0.5]")
    assert counterexamples._part(many, many) == "each input is"
    assert counterexamples._listed({"x": np.arange(9)}).endswith("6, 7, …]")
