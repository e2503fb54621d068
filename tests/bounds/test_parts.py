"""What the parts of a box show together: the hull of ranges, the largest errors, a decision that all of them share."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.bounds.box import Interval
from sonnx.bounds.result import Bounds, DecisionBounds, TensorBounds
from sonnx.bounds.split import BisectionProblem, Goal, halves, joined
from sonnx.bounds.sub_boxes import SubBox, decoded_part, encoded_part, is_whole
from sonnx.checker.conditions import Conditions
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.supervise.search import Frontier
from tests.support.models import graph

GOAL = Goal(error=0.25, differences=((0, 1),), argmax=False)


def tensor(
    name: str, low: float, high: float, error: float, introduced: float = 0.0, unbounded: str = ""
) -> TensorBounds:
    arrays = (np.array([value]) for value in (low, high, introduced, error))
    return TensorBounds(name, "n", "float", *arrays, is_output=True, unbounded=unbounded)


def part(volume: float, output: TensorBounds, *decisions: DecisionBounds) -> SubBox:
    return SubBox({}, volume, output, decisions, {})


def frontier(goal: Goal, parts: list[SubBox]) -> Frontier[SubBox]:
    return Frontier(BisectionProblem(b"", ({}, {}), hypotheses_named("ieee-any"), None, goal, {}), parts)


def decision(low: float, high: float, error: float, *, same: bool, what: str = "0 - 1") -> DecisionBounds:
    return DecisionBounds(what, low, high, error, same)


def whole(*tensors: TensorBounds) -> Bounds:
    return Bounds("m", Conditions("2026-11"), hypotheses_named("ieee-any"), tensors, (), (), {}, ())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_decision_is_the_same_if_every_part_shows_it(first: bool, second: bool) -> None:
    decisions = decision(1, 2, 0.1, same=first), decision(-1, 1.5, 0.2, same=second)
    bisection = frontier(GOAL, [part(0.5, tensor("y", 0, 1, 0.1), each) for each in decisions])
    [found] = joined(whole(tensor("y", -9, 9, 9)), bisection, GOAL).decisions
    assert found == decision(-1, 2, 0.2, same=first and second)


def test_decisions_about_different_elements() -> None:
    decisions = [decision(0, 1, 0.1, same=True, what=what) for what in ("argmax is 0", "argmax is 2")]
    bisection = frontier(GOAL, [part(0.5, tensor("y", 0, 1, 0.1), each) for each in decisions])
    assert [each.what for each in joined(whole(tensor("y", 0, 1, 1)), bisection, GOAL).decisions] == ["argmax, by part"]


def test_a_single_part_keeps_what_its_decision_is_about() -> None:
    bisection = frontier(GOAL, [part(1.0, tensor("y", 0, 1, 0.1), decision(1, 2, 0.1, same=True, what="argmax = 2"))])
    assert [each.what for each in joined(whole(tensor("y", 0, 1, 1)), bisection, GOAL).decisions] == ["argmax = 2"]


@pytest.mark.parametrize(
    ("goal", "stated"),
    [
        (Goal(None, (), False), False), (Goal(None, (), True), True), (Goal(0.0, (), False), True),
        (Goal(None, ((0, 1),), False), True),
    ],
)  # fmt: skip
def test_a_goal_is_stated_by_any_of_its_parts(goal: Goal, stated: bool) -> None:
    assert goal.is_stated is stated


def test_the_whole_volume_is_one() -> None:
    """Of a box that is one part, and of one that is halved until an interval has no number inside."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    data = graph(nodes, {"x": (TensorProto.FLOAT, [1])}, {"y": (TensorProto.FLOAT, [1])}).SerializeToString()
    box = {"x": (np.array([1.0]), np.array([2.0]))}
    found = sonnx.bound(data, box, unchecked=True, split=1.0, max_error=1.0)
    assert found.split is not None
    assert (found.split.volume, found.split.boxes) == (1.0, 1)


def test_ranges_and_errors_of_all_parts() -> None:
    """The hull and the largest error of the first output; what the whole box shows of the other tensors."""
    outputs = tensor("y", -1, 1, 0.1, 0.01), tensor("y", 0, 3, 0.2, 0.001), tensor("y", -2, 0, 0.05, 0.002)
    parts = [part(1 / 4, outputs[0]), part(1 / 4, outputs[1]), part(1 / 2, outputs[2])]
    other = tensor("t", -5, 5, 5)
    for places in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        found = joined(whole(other, tensor("y", -9, 9, 9)), frontier(GOAL, [parts[place] for place in places]), GOAL)
        y = found.tensors[1]
        assert (y.low, y.high, y.error, y.introduced, y.unbounded) == (-2, 3, 0.2, 0.01, "")
        assert found.tensors[0] is other
        assert found.split is not None
        assert (found.split.boxes, found.split.volume, found.split.finished) == (3, 1.0, True)


def test_one_part_without_bounds() -> None:
    """The bounds of the whole box stay, and nothing is shown of that part."""
    parts = [part(0.5, tensor("y", 0, 1, 0.1)), part(0.5, tensor("y", 0, 0, 0, unbounded="n overflows"))]
    before = tensor("y", -9, 9, 9)
    found = joined(whole(before), frontier(GOAL, parts), GOAL)
    assert found.tensors == (before,)
    assert found.split is not None
    assert (found.split.volume, found.split.finished) == (0.5, False)


@pytest.mark.parametrize(
    ("goal", "finished"), [(GOAL, False), (Goal(0.5, (), False), True), (Goal(None, (), False), True)]
)
def test_a_split_that_ends_early(goal: Goal, finished: bool) -> None:
    """An error above the goal, or a decision that differs, leaves a part open; without a goal nothing is open."""
    parts = [part(0.75, tensor("y", 0, 1, 0.1)), part(0.25, tensor("y", 0, 1, 0.5))]
    bisection = frontier(goal, parts)
    found = joined(whole(tensor("y", 0, 1, 1)), bisection, goal).split
    assert found is not None
    assert found.finished is finished
    stated = goal.is_stated
    assert found.volume == (sum(each.volume for each in bisection.decided) if stated else 0)
    assert len(bisection.open) == (2 if not stated else 0 if finished else 1)


def test_a_part_that_cannot_be_halved_stays_open() -> None:
    bisection = frontier(GOAL, [part(1.0, tensor("y", 0, 1, 0.5))])
    taken = bisection.take()
    assert taken is not None
    bisection.replace(taken, None)
    assert bisection.take() is None
    found = joined(whole(tensor("y", 0, 1, 1)), bisection, GOAL).split
    assert found is not None
    assert (found.finished, found.volume) == (False, 0)
    assert "cannot be halved" in found.text


@pytest.mark.parametrize("same", list(product([True, False], repeat=2)))
def test_a_goal_is_reached_where_all_of_it_is_shown(same: Any) -> None:
    decisions = [decision(0, 1, 0.1, same=each) for each in same]
    assert GOAL.reached(tensor("y", 0, 1, 0.25), decisions) is all(same)
    assert not GOAL.reached(tensor("y", 0, 1, 0.26), decisions)
    assert not GOAL.reached(tensor("y", 0, 1, 0.1, unbounded="n overflows"), decisions)
    assert Goal(None, ((0, 1),), False).reached(tensor("y", 0, 1, 9.0), decisions) is all(same)


def test_what_is_halved_next() -> None:
    """A part without bounds first, then the one with the largest error; of decisions alone the largest part."""
    parts = [part(0.1, tensor("y", 0, 1, 0.5)), part(0.2, tensor("y", 0, 1, 0.75)), part(0.3, tensor("y", 0, 1, 0.3))]
    parts += [part(0.4, tensor("y", 0, 0, 0, unbounded="n overflows"))]
    bisection = frontier(GOAL, parts)
    assert [each.volume for each in iter(bisection.take, None)] == [0.4, 0.2, 0.1, 0.3]
    differing = decision(-1, 1, 0.1, same=False)
    decided = frontier(Goal(None, ((0, 1),), False), [part(x, tensor("y", 0, 1, x), differing) for x in (0.2, 0.5)])
    assert [each.volume for each in iter(decided.take, None)] == [0.5, 0.2]


def test_boxes_without_elements_are_the_same_everywhere() -> None:
    empty = np.zeros((4, 2, 0, 3))
    assert Interval(empty, empty).is_same


def test_halves_of_a_box() -> None:
    """Along the widest interval, weighted by how much it moves the output; both halves meet in the middle."""
    box = {
        "a": Interval(np.array([0.0, -1.0]), np.array([4.0, 1.0])),
        "b": Interval(np.array([[1.0]]), np.array([[2.0]])),
    }

    def ends(found: Any) -> Any:
        return [(half["a"].low.tolist(), half["a"].high.tolist(), half["b"].low.item(), half["b"].high.item())
                for half in found]  # fmt: skip

    assert ends(halves(box, {})) == [([0, -1], [2, 1], 1, 2), ([2, -1], [4, 1], 1, 2)]
    weights = {"a": np.array([0.1, -0.3]), "b": np.array([[0.0]])}
    assert ends(halves(box, weights)) == [([0, -1], [4, 0], 1, 2), ([0, 0], [4, 1], 1, 2)]
    weights = {"a": np.array([0.0, 0.0]), "b": np.array([[5.0]])}
    assert ends(halves(box, weights)) == [([0, -1], [4, 1], 1, 1.5), ([0, -1], [4, 1], 1.5, 2)]


def test_boxes_that_cannot_be_halved() -> None:
    point, empty = np.array([1.0]), np.zeros(0)
    assert halves({"a": Interval(point, point)}, {}) is None
    assert halves({"a": Interval(empty, empty)}, {}) is None
    for low in (point, np.nextafter(point, 2)):  # of two neighbours one is even, to which their middle is rounded
        assert halves({"a": Interval(low, np.nextafter(low, 2))}, {}) is None
    beside = {"a": Interval(np.array([-(2.0**126)]), np.array([3 * 2.0**126])), "b": Interval(empty, empty)}
    below, above = halves(beside, {}) or ({}, {})
    assert below["a"].high == above["a"].low == 2.0**126


def test_a_part_is_the_same_after_it_was_kept() -> None:
    box = {"x": Interval(np.array([[-0.1, 2.0]]), np.array([[0.3, 1e300]])), "n": Interval(np.zeros(()), np.ones(()))}
    decisions = (decision(-np.inf, 1 / 3, np.inf, same=False), decision(0.1, 2, 5e-324, same=True))
    for output in (tensor("y", 0.1, 1 / 3, np.inf, 5e-324), tensor("y", 0, 0, 0, unbounded="n overflows")):
        part = SubBox(box, 1 / 1024, output, decisions, {"x": np.array([[1.5, -0.0]])}, "0110010101")
        again = decoded_part(json.loads(json.dumps(encoded_part(part))))
        assert (again.path, again.volume, again.decisions) == (part.path, part.volume, part.decisions)
        assert json.dumps(encoded_part(again)) == json.dumps(encoded_part(part))
        assert again.output.error.tolist() == output.error.tolist()
        assert {name: each.high.tolist() for name, each in again.box.items()} == {"x": [[0.3, 1e300]], "n": 1.0}


@pytest.mark.parametrize(
    ("paths", "whole"),
    [
        ([""], True), (["0", "1"], True), (["00", "1", "01"], True), ([], False), (["0"], False), (["00", "1"], False),
        (["0", "0", "1"], False), (["", "0"], False), (["0", "00", "01"], False), (["0" * 300, "1"], False),
        ([*("0" * depth + "1" for depth in range(300)), "0" * 300], True),
    ],
)  # fmt: skip
def test_parts_that_are_the_whole_box(paths: list[str], whole: bool) -> None:
    parts = [SubBox({}, 1.0, tensor("y", 0, 1, 0), (), {}, path) for path in paths]
    assert is_whole(parts) is whole


def test_other_data_are_not_a_part() -> None:
    good = encoded_part(SubBox({}, 1.0, tensor("y", 0, 1, 0), (), {}, "0"))
    decoded_part(good)
    for place in range(len(good)):
        for damage in (None, [], {}, "x", 7, [["x"]], {"low": [[1], "AAAA"]}, {"x": [[[2], ""], [[0], ""]]}):
            if good[place] != damage:
                try:
                    again = decoded_part([*good[:place], damage, *good[place + 1 :]])
                except ValueError:
                    continue
                assert json.loads(json.dumps(encoded_part(again)))[place] == damage
