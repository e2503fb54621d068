"""Normal forms of choices among constants, of parts of joined outputs, and of operators on constants."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from sonnx.equivalence.interpretation.constant_results import constant_result
from sonnx.equivalence.result import Answer
from sonnx.model.ir import Attribute, Node
from tests.equivalence.test_unequal_models import EQUAL, answer

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
CHOSEN = (
    HEAD + "(int64[2] i) => ({0}[2] y) <int64[3] t = {{7, 5, 9}}, int64 nought = {{0}}, int64 three = {{3}}, "
    "int64 one = {{1}}, int64 two = {{2}}, {0} a = {{{1}}}, {0} b = {{5}}, {0} c = {{9}}> {{ {2} }}"
)
CHOICE = (
    "n = Less(i, nought) k = Add(i, three) p = Where(n, k, i) u = Less(p, two) v = Where(u, b, c) w = Less(p, one) "
    "y = Where(w, a, v)"
)
LOOKUPS = {
    "whole numbers": ("int64", "y = Gather(t, i)"),
    "converted numbers": ("float", "z = Gather(t, i) y = Cast <to = 1> (z)"),
    "converted numbers in another shape": (
        "float", "z = Gather(t, i) r = Unsqueeze(z, ax) s = Squeeze(r, ax) y = Cast <to = 1> (s)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_is_a_choice(name: str) -> None:
    element, calls = LOOKUPS[name]
    own = CHOSEN.format(element, 7, calls).replace("int64 nought", "int64[1] ax = {1}, int64 nought")
    for number, equal in ((7, True), (6, False)):
        other = CHOSEN.format(element, number, CHOICE)
        found = answer(onnx.parser.parse_model(own), onnx.parser.parse_model(other), runs=0)
        assert (found in EQUAL) == equal


def test_a_part_of_an_output_that_steps_give() -> None:
    """The last state of all is the last state; another one is not."""
    cell = (
        HEAD
        + "(float[3, 1, 2] x) => (float[1, 1, 2] y) <float[1, 6, 2] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, "
        "float[1, 6, 2] r = {{1, -2, 3, -4, 5, 6, -7, 8, 9, -1, 2, 3}}, int64 i = {{{0}}}> {{ {1} }}"
    )
    last = cell.format(2, "n, y = GRU <hidden_size = 2> (x, w, r)")
    for place, wanted in ((2, Answer.ROUNDING), (1, Answer.UNDECIDED)):
        own = cell.format(place, "a = GRU <hidden_size = 2> (x, w, r) y = Gather(a, i)")
        assert answer(onnx.parser.parse_model(own), onnx.parser.parse_model(last), runs=0) is wanted


def node(operator: str, **attributes: int) -> Node:
    written = tuple(Attribute(name, "int", value, fields=("i",)) for name, value in attributes.items())
    return Node("", operator, "", "", ("a", "b")[: 1 + (operator == "CumSum")], ("y",), written)


def test_sums_of_floats_that_are_exact() -> None:
    axis, whole = np.array(0), np.array([1, 2, 3], np.float32)
    found = constant_result(node("CumSum", reverse=1, exclusive=1), [whole, axis])
    assert found is not None
    assert found.tolist() == [5, 3, 0]
    for array in ([0.5, 1], [2**24, 1], [np.inf, 1], [-0.0, 1]):
        assert constant_result(node("CumSum"), [np.array(array, np.float32), axis]) is None


def test_cosines_are_rounded_once() -> None:
    angles = np.random.default_rng(1).uniform(-9, 9, 200).astype(np.float32)
    found = constant_result(node("Cos"), [angles])
    assert found is not None
    apart = np.abs(found.astype(np.float64) - np.cos(angles.astype(np.float64)))
    assert (apart <= np.spacing(np.abs(found)) * 0.5000001).all()


JOINED = (
    HEAD.replace("17", "9") + "(float[1, 4, 3, 3] x, float[1, 2, 3, 3] z) => (float[1, 3, 3, 3] y) "
    "<float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[1, 2, 1, 1] a = {1, 2}, float[1, 2, 1, 1] b = {3, 4}, "
    "float[1, 2, 1, 1] c = {5, 6}> { %s }"
)
PARTS = "f, s = Split <axis = 1> (x) p = Conv(f, a) q = Conv(s, b) r = Conv(z, %s) y = Concat <axis = 1> (p, q, r)"


def test_groups_of_channels_that_are_joined() -> None:
    """A convolution in groups of what a Concat joins is the convolutions of what it joins."""
    whole = onnx.parser.parse_model(JOINED % "j = Concat <axis = 1> (x, z) y = Conv <group = 3> (j, w)")
    for kernel, equal in (("c", True), ("b", False)):
        assert (answer(whole, onnx.parser.parse_model(JOINED % (PARTS % kernel)), runs=0) in EQUAL) == equal
