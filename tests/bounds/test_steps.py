"""Operators that jump, numbers that become zero, and integers: exact and computed values within the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx import bound
from tests.bounds.test_transfers import inside, ints
from tests.support.cases import each_case

ort = pytest.importorskip("onnxruntime")

DIVISORS = (3, 25)
"""Numbers whose inverse is rounded up in float, and down."""


def graph_model(nodes: list[Any], shapes: dict[str, tuple[int, ...]], outputs: list[str], constants: dict[str, Any],
                element: int = TensorProto.FLOAT) -> Any:  # fmt: skip
    """A model of nodes, with outputs of any type."""
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


STEPS: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "Floor": ([helper.make_node("Floor", ["p"], ["y"])], {}, np.floor),
    "Ceil": ([helper.make_node("Ceil", ["p"], ["y"])], {}, np.ceil),
    "Cast": ([helper.make_node("Cast", ["p"], ["y"], to=TensorProto.INT64)], {}, np.trunc),
    "Mod": ([helper.make_node("Mod", ["p", "one"], ["y"], fmod=1)], {"one": np.float32(1)}, lambda p: np.fmod(p, 1)),
    "Sign": ([helper.make_node("Sub", ["p", "five"], ["d"]), helper.make_node("Sign", ["d"], ["y"])],
             {"five": np.float32(5)}, lambda p: np.sign(p - 5)),
    "Greater": ([helper.make_node("Greater", ["p", "five"], ["y"])], {"five": np.float32(5)}, lambda p: p > 5),
    "Less": ([helper.make_node("Less", ["p", "five"], ["y"])], {"five": np.float32(5)}, lambda p: p < 5),
    "Equal": ([helper.make_node("Equal", ["p", "five"], ["y"])], {"five": np.float32(5)}, lambda p: p == 5),
    "Not": ([helper.make_node("Greater", ["p", "five"], ["g"]), helper.make_node("Not", ["g"], ["y"])],
            {"five": np.float32(5)}, lambda p: ~(p > 5)),
    "And": ([helper.make_node("Greater", ["p", "five"], ["g"]), helper.make_node("Less", ["p", "six"], ["l"]),
             helper.make_node("And", ["g", "l"], ["y"])],
            {"five": np.float32(5), "six": np.float32(6)}, lambda p: (p > 5) & (p < 6)),
    "Or": ([helper.make_node("Less", ["p", "five"], ["l"]), helper.make_node("Greater", ["p", "six"], ["g"]),
            helper.make_node("Or", ["g", "l"], ["y"])],
           {"five": np.float32(5), "six": np.float32(6)}, lambda p: (p < 5) | (p > 6)),
    "Where": ([helper.make_node("Greater", ["p", "five"], ["g"]), helper.make_node("Where", ["g", "p", "m"], ["y"])],
              {"five": np.float32(5), "m": np.float32(-1)}, lambda p: np.where(p > 5, p, -1)),
    "ArgMax": ([helper.make_node("Unsqueeze", ["p", "axis"], ["q"]),
                helper.make_node("Concat", ["five", "q"], ["r"], axis=1),
                helper.make_node("ArgMax", ["r"], ["y"], axis=1, keepdims=0)],
               {"axis": np.array([1]), "five": np.full((12, 1), 5, np.float32)}, lambda p: (p > 5) * 1),
    "QuantizeLinear": ([helper.make_node("QuantizeLinear", ["p", "two", "z"], ["y"])],
                       {"two": np.float32(2), "z": np.int8(-3)}, lambda p: np.rint(p / 2) - 3),
    "DequantizeLinear": ([helper.make_node("QuantizeLinear", ["p", "two", "z"], ["n"]),
                          helper.make_node("DequantizeLinear", ["n", "two", "z"], ["y"])],
                         {"two": np.float32(2), "z": np.int8(-3)}, lambda p: np.rint(p / 2) * 2),
}  # fmt: skip


@each_case("name", STEPS)
@each_case("divisor", DIVISORS)
def test_a_rounding_before_a_step_is_within_the_bound(name: str, divisor: int) -> None:
    """x / 3 by the float just above 1/3, x / 25 by one just below 1/25: the exact and the rounded product differ."""
    nodes, constants, function = STEPS[name]
    weight, x = np.float32(1) / np.float32(divisor), np.arange(1, 13).astype(np.float32) * divisor
    product = helper.make_node("Mul", ["x", "w"], ["p"])
    model = graph_model([product, *nodes], {"x": (12,)}, ["y"], {"w": weight, **constants})
    data = model.SerializeToString()
    exact = function(x.astype(np.longdouble) * np.longdouble(weight)).astype(float)
    computed = function(x * weight).astype(float)
    point = bound(data, {"x": x}, "ieee-any", unchecked=True)["y"]
    assert not point.unbounded
    assert inside(point, exact)
    assert inside(point, computed, point.error)
    wide = bound(data, {"x": (x - np.float32(0.5), x)}, "ieee-any", unchecked=True)["y"]
    assert inside(wide, exact)
    assert inside(wide, computed, wide.error)
    run = sonnx.run(data, {"x": x}, unchecked=True)["y"].astype(float)
    once = bound(data, {"x": x}, "executor", unchecked=True)["y"]
    assert inside(once, run, once.error)
    far = x + np.float32(1)
    steady = bound(data, {"x": far}, "ieee-any", unchecked=True)["y"]
    assert inside(steady, function(far * weight).astype(float), steady.error)
    if name not in ("Mod", "Where", "Equal"):
        assert steady.error.max() < 1e-3, "away from the steps nothing is decided otherwise"


def test_a_decision_that_may_differ_is_told() -> None:
    """x * (1/25) for x = 25 and 30: the first product may be on either side of 1."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["p"]), helper.make_node("Floor", ["p"], ["y"], name="f")]
    weight = np.float32(1) / np.float32(25)
    data = graph_model(nodes, {"x": (2,)}, ["y"], {"w": weight}).SerializeToString()
    found = bound(data, {"x": np.array([25, 30], np.float32)}, "ieee-any", unchecked=True)
    assert found.holds
    assert found["y"].error.tolist() == pytest.approx([1.0, 0.0], rel=1e-12)
    told = "counted: decision at node 'f' (Floor, graph/node[1]): an implementation may decide 1 element otherwise"
    assert told in found.to_text()
    assert "counted" not in bound(data, {"x": np.array([30, 30], np.float32)}, "ieee-any", unchecked=True).to_text()


def test_some_rounding_does_cross_a_step() -> None:
    """The test above would show nothing if exact and computed values were always the same."""
    crossed = set()
    for divisor in DIVISORS:
        weight, x = np.float32(1) / np.float32(divisor), np.arange(1, 13).astype(np.float32) * divisor
        for name, (_, _, function) in STEPS.items():
            exact = function(x.astype(np.longdouble) * np.longdouble(weight)).astype(float)
            if (np.abs(exact - function(x * weight).astype(float)) > 0.5).any():
                crossed.add(name)
    assert crossed == set(STEPS)


NORMAL = np.float32(2.0**-126)

FLUSHED: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "Add": ([helper.make_node("Add", ["x", "c"], ["y"])], {"c": NORMAL}, lambda x: x + NORMAL),
    "Mul": ([helper.make_node("Mul", ["x", "c"], ["y"])], {"c": np.float32(1e30)}, lambda x: x * np.float32(1e30)),
    "Relu": ([helper.make_node("Relu", ["x"], ["y"])], {}, lambda x: np.maximum(x, 0)),
    "Floor": ([helper.make_node("Floor", ["x"], ["y"])], {}, np.floor),
    "Ceil": ([helper.make_node("Ceil", ["x"], ["y"])], {}, np.ceil),
    "Sign": ([helper.make_node("Sign", ["x"], ["y"])], {}, np.sign),
    "Greater": ([helper.make_node("Greater", ["x", "z"], ["y"])], {"z": np.float32(0)}, lambda x: x > 0),
    "Where": ([helper.make_node("Less", ["x", "z"], ["g"]), helper.make_node("Where", ["g", "z", "one"], ["y"])],
              {"z": np.float32(0), "one": np.float32(1)}, lambda x: np.where(x < 0, 0, 1)),
    "ArgMax": ([helper.make_node("Reshape", ["x", "s"], ["r"]), helper.make_node("Concat", ["z", "r"], ["t"], axis=1),
                helper.make_node("ArgMax", ["t"], ["y"], axis=1, keepdims=0)],
               {"s": ints(8, 1), "z": np.zeros((8, 1), np.float32)}, lambda x: (x > 0) * 1),
}  # fmt: skip


def flushed(values: Any) -> Any:
    """Subnormal numbers as zero."""
    wide = np.asarray(values)
    return np.where(np.abs(wide) < NORMAL, np.zeros_like(wide), wide) if wide.dtype == np.float32 else wide


@each_case("name", FLUSHED)
def test_an_implementation_that_takes_subnormal_numbers_for_zero_is_within_the_bound(name: str) -> None:
    """Flushing operands and results is within the bound with `flush`, and outside the one without it."""
    nodes, constants, function = FLUSHED[name]
    data = graph_model(nodes, {"x": (8,)}, ["y"], constants).SerializeToString()
    x = np.array([-1e-39, 1e-39, -1e-45, 1.1e-38, -1.1e-38, 0, 3e-38, -2e-38], np.float32)
    computed = flushed(function(flushed(x))).astype(float)
    exact = function(x.astype(np.longdouble)).astype(float)
    with_flush, without = (bound(data, {"x": x}, each, unchecked=True)["y"] for each in ("onnxruntime-cpu", "ieee-any"))
    assert inside(with_flush, exact)
    assert inside(with_flush, computed, with_flush.error)
    assert not inside(without, computed, without.error)


def test_a_range_of_numbers_covers_every_order() -> None:
    nodes = [helper.make_node("Range", ["a", "b", "d"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]
    constants = {"a": np.float32(0.1), "b": np.float32(30.0), "d": np.float32(0.1)}
    model = graph_model(nodes, {"x": (1,)}, ["y"], constants)
    found = bound(model.SerializeToString(), {"x": np.zeros(1, np.float32)}, "ieee-any", unchecked=True)
    added = np.cumsum(np.full(found["r"].low.size, 0.1, np.float32), dtype=np.float32)
    assert inside(
        found["r"], 0.1 * np.float64(np.float32(1)) * 0 + np.arange(1, added.size + 1) * float(np.float32(0.1))
    )
    assert inside(found["r"], added, found["r"].error)


def test_integers_have_exact_ranges_and_wrapping_is_told() -> None:
    """uint8 images into ConvInteger, then scaled: whole ends, no error before the product."""
    source = np.random.default_rng(5)
    w = source.integers(0, 255, (2, 1, 2, 2)).astype(np.uint8)
    nodes = [
        helper.make_node("ConvInteger", ["x", "w", "zx", "zw"], ["n"], pads=[1, 0, 0, 0]),
        helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "s"], ["y"]),
    ]  # fmt: skip
    constants = {"w": w, "zx": np.uint8(0), "zw": np.uint8(119), "s": np.float32(0.013)}
    model = graph_model(nodes, {"x": (1, 1, 3, 3)}, ["n", "y"], constants, TensorProto.UINT8)
    data = model.SerializeToString()
    session = ort.InferenceSession(data)
    low = source.integers(0, 200, (1, 1, 3, 3))
    found = bound(data, {"x": (low, low + 40)}, "ieee-any", unchecked=True)
    assert not found["n"].error.any()
    assert not (found["n"].low % 1).any()
    for _ in range(20):
        x = (low + source.integers(0, 41, low.shape)).astype(np.uint8)
        kernel = w.astype(int) - 119
        padded = np.pad(x.astype(int), [(0, 0), (0, 0), (1, 0), (0, 0)])
        exact = np.array([[[(padded[0, 0, i : i + 2, j : j + 2] * k[0]).sum() for j in range(2)] for i in range(3)]
                          for k in kernel])[None]  # fmt: skip
        assert ((exact >= found["n"].low) & (exact <= found["n"].high)).all()
        whole, scaled = session.run(["n", "y"], {"x": x})
        assert (whole == exact).all()
        assert inside(found["y"], scaled, found["y"].error)
    add = graph_model([helper.make_node("Add", ["x", "c"], ["y"])], {"x": (1,)}, ["y"], {"c": np.array([100], np.int8)},
                      TensorProto.INT8)  # fmt: skip
    data = add.SerializeToString()
    assert bound(data, {"x": (np.array([-5]), np.array([27]))}, unchecked=True)["y"].high.tolist() == [127.0]
    assert (
        "no wrap-around is not shown"
        in bound(data, {"x": (np.array([0]), np.array([28]))}, unchecked=True)["y"].unbounded
    )
    divide = helper.make_node("Div", ["x", "c"], ["y"])
    quotient = graph_model([divide], {"x": (1,)}, ["y"], {"c": np.array([-4], np.int8)}, TensorProto.INT8)
    found_y = bound(quotient.SerializeToString(), {"x": (np.array([-7]), np.array([9]))}, unchecked=True)["y"]
    assert (found_y.low.item(), found_y.high.item(), found_y.error.item()) == (-2.0, 1.0, 0.0)
