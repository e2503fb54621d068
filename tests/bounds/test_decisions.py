"""Differences of output elements and the largest one, on values whose ranges and errors are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.base.errors import UsageError
from sonnx.bounds.analysis import decision_bounds, shares
from sonnx.bounds.result import DecisionBounds
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.numerics.enclosures.values import Value
from tests.support.models import graph


def value(low: Any, high: Any, error: Any, unbounded: str = "") -> Value:
    arrays = [np.array(each, float) for each in (low, high, error)]
    return Value("y", TensorFacts("float", arrays[0].shape, RUN_TIME), *arrays, np.zeros(arrays[0].shape),
                 unbounded=unbounded)  # fmt: skip


def test_nothing_is_decided_without_bounds() -> None:
    everything = -np.inf, np.inf, np.inf, False
    output = value([0, 1], [0, 1], [0, 0], unbounded="an overflow")
    assert decision_bounds(output, [(0, 1)], argmax=True) == [
        DecisionBounds("0 - 1", *everything),
        DecisionBounds("argmax", *everything),
    ]
    assert decision_bounds(output, [(1, 0)], argmax=False) == [DecisionBounds("1 - 0", *everything)]
    assert shares(output) == ()


@pytest.mark.parametrize(
    ("low", "high", "error", "same"),
    [
        (1, 2, 0.5, True), (-2, -1, 0.5, True), (1, 2, 1.0, False), (-2, -1, 1.0, False), (-1, 1, 0, False),
        (0, 1, 0, False), (-1, 0, 0, False), (0.5, 1, 0.25, True),
    ],
)  # fmt: skip
def test_a_difference_keeps_its_sign_if_its_range_and_error_do(low: Any, high: Any, error: Any, same: bool) -> None:
    """Of an element and the constant 0: the sign is the same in every implementation."""
    [found] = decision_bounds(value([low, 0], [high, 0], [error, 0]), [(0, 1)], argmax=False)
    assert found.same is same
    assert found.what == "0 - 1"
    assert (found.low, found.high, found.error) == pytest.approx((low, high, error), abs=1e-15)


def test_differences_of_several_pairs_are_told_apart() -> None:
    output = value([0, 10, 30], [1, 12, 33], [0.125, 0.25, 0.5])
    found = decision_bounds(output, [(2, 0), (1, 2)], argmax=False)
    assert [each.what for each in found] == ["2 - 0", "1 - 2"]
    assert [each.low for each in found] == pytest.approx([29, -23])
    assert [each.high for each in found] == pytest.approx([33, -18])
    assert [each.error for each in found] == pytest.approx([0.625, 0.75])


@pytest.mark.parametrize(
    ("low", "high", "error", "expected"),
    [
        ([5, 0, 1], [6, 1, 2], [0, 0, 0], ("argmax = 0", 3, 5, True)),
        ([0, 5, 1], [1, 6, 5], [0, 0, 0], ("argmax = 1", 0, 5, False)),
        ([0, 5, 1], [1, 6, 4.5], [0, 0.25, 0.25], ("argmax = 1", 0.5, 5, False)),
        ([0, 5, 1], [1, 6, 4.5], [0, 0.25, 0.125], ("argmax = 1", 0.5, 5, True)),
        ([2], [3], [9], ("argmax = 0", np.inf, np.inf, True)),
    ],
)
def test_the_largest_element(low: Any, high: Any, error: Any, expected: Any) -> None:
    """The range of the least sure difference from it, and whether every difference stays above 0."""
    [found] = decision_bounds(value(low, high, error), [], argmax=True)
    assert (found.what, found.same) == (expected[0], expected[3])
    assert (found.low, found.high) == pytest.approx(expected[1:3])
    assert found.error == 0 or len(low) > 1


@pytest.mark.parametrize("pair", [(-1, 0), (0, -1), (0, 3), (3, 0), (1, 1)])
def test_the_elements_of_a_difference_are_two_of_the_output(pair: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="the output has elements 0 to 2"):
        decision_bounds(value([0, 1, 2], [1, 2, 3], [0, 0, 0]), [pair], argmax=False)


def test_the_largest_of_many_elements_that_are_close() -> None:
    """More than one block of pairs is not sure by itself; the decision is about all of them."""
    low, high = np.zeros(40), np.full(40, 0.5)
    low[7], high[7] = 0.25, 2.0
    [found] = decision_bounds(value(low, high, np.full(40, 0.5)), [], argmax=True)
    assert (found.what, found.same, found.low) == ("argmax = 7", False, pytest.approx(-0.25))


def test_shares_and_decisions_are_of_the_first_output() -> None:
    """The second output has more nodes with errors, and its elements are nearer to each other."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["y"], name="square"),
        helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Add", ["e", "x"], ["z"], name="sum"),
    ]  # fmt: skip
    kind = TensorProto.FLOAT, [2]
    data = graph(nodes, {"x": kind}, {"y": kind, "z": kind}).SerializeToString()
    box = {"x": (np.array([1, 2]), np.array([1.5, 2.5]))}
    found = sonnx.bound(data, box, argmax=True, unchecked=True)
    [largest] = found.decisions
    assert (largest.low, largest.high) == pytest.approx((1.75, 5.25), rel=0.2)
    assert [node.partition(" (")[0] for node, _ in found.shares] == ["node 'square'"]
    assert found.shares[0][1] == pytest.approx(1)
