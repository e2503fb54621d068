"""Ranges and errors at the edges of transfer functions, computed by hand: models in ONNX's text form and boxes."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

from sonnx import bound
from sonnx.numerics.enclosures.arithmetic import FORMATS, SumOrder, representable
from sonnx.numerics.enclosures.values import NotBounded
from tests.support.cases import each_case

FIFTH = np.float32(1) / np.float32(25)
"""Just below 1/25: the product with 125 is just below 5 and may be computed as 5."""
THIRD = np.float32(1) / np.float32(3)
"""Just above 1/3."""
NEAR_FIVE = "p = Mul (x, w)"


class Edge(NamedTuple):
    """A graph from x to y, its constants, the ends of the box, and the range and error of y; "" or why it has none."""

    graph: str
    constants: dict[str, Any]
    low: Any
    high: Any
    expected: tuple[Any, Any, Any] | str
    version: int = 13


EDGES = {
    "padding without a value": Edge(
        "(float[2] x) => (float[4] y) { y = Pad (x, p) }", {"p": np.array([1, 1])},
        [1, 3], [2, 4], ([0, 1, 3, 0], [0, 2, 4, 0], [0, 0, 0, 0]),
    ),
    "padding by a number that the model has": Edge(
        "(float[2] x) => (float[4] y) { y = Pad (x, p, v) }", {"p": np.array([1, 1]), "v": np.float32(1.5)},
        [1, 3], [2, 4], ([1.5, 1, 3, 1.5], [1.5, 2, 4, 1.5], [0, 0, 0, 0]),
    ),
    "padding by an attribute": Edge(
        "(float[2] x) => (float[4] y) { y = Pad <pads=[1,1]> (x) }", {},
        [1, 3], [2, 4], ([0, 1, 3, 0], [0, 2, 4, 0], [0, 0, 0, 0]), 2,
    ),
    "padding by another number in an attribute": Edge(
        "(float[2] x) => (float[4] y) { y = Pad <pads=[1,1], value=1.5> (x) }", {},
        [1, 3], [2, 4], "Pad has a bound for a padding of 0 or an input only", 2,
    ),
    "padding that an attribute leaves to the operator": Edge(
        "(float[1,1,5] x) => (float[1,1,3] y) "
        '{ y = MaxPool <kernel_shape=[2], strides=[2], auto_pad="SAME_UPPER"> (x) }',
        {}, [[[0, 1, 2, 3, 4]]], [[[1, 2, 3, 4, 5]]], ([[[1, 3, 4]]], [[[2, 4, 5]]], [[[0, 0, 0]]]),
    ),
    "a quotient without elements": Edge(
        "(int32[2,0] x) => (int32[2,0] y) { y = Div (x, x) }", {}, [[], []], [[], []], ([[], []], [[], []], [[], []]),
    ),
    "an output that is declared without elements": Edge(
        "(float[2] x) => (float[0] y) { y = Neg (x) }", {}, [0, 1], [1, 2], ([-1, -2], [0, -1], [0, 0]),
    ),
    "shares without elements": Edge(
        "(float[2,0] x) => (float[2,0] y) { y = Softmax (x) }", {}, [[], []], [[], []], ([[], []], [[], []], [[], []]),
    ),
    "a scalar left of the kink, with a slope below -1": Edge(
        "(float x) => (float y) { y = LeakyRelu <alpha=-2.0> (x) }", {}, -3, 1, (0, 6, 3 * 2.0**-23),
    ),
    "a rectifier from 0 on": Edge(
        "(float[1] x) => (float[1] y) { y = LeakyRelu <alpha=0.25> (x) }", {}, [0], [2], ([0], [2], None),
    ),
    "a lower bound that varies, without an upper one": Edge(
        "(float[1] x) => (float[1] y) { l = ReduceSum <keepdims=0> (x) y = Clip (x, l) }",
        {}, [1], [2], ([1], [2], None),
    ),
    "a slope above 1": Edge(
        "(float[2] x) => (float[2] y) { y = LeakyRelu <alpha=4.0> (x) }", {},
        [-1, 1], [1, 2], ([-4, 1], [1, 2], [2.0**-22, 0]),
    ),
    "a slope that is not a number of the type": Edge(
        "(float16[1] x) => (float16[1] y) { y = LeakyRelu <alpha=100000.0> (x) }", {},
        [-1], [1], "alpha is 100000, which is not a number of float16",
    ),
    "an integer constant that rounds": Edge(
        "(float[1] x) => (float[1] y) { c = Cast <to=1> (n) y = Add (x, c) }", {"n": np.array([2**24 + 1])},
        [0], [0], ([2**24 + 1], [2**24 + 1], [2 + 2.0**-21]),
    ),
    "an integer constant that does not round": Edge(
        "(float[1] x) => (float[1] y) { c = Cast <to=1> (n) y = Add (x, c) }", {"n": np.array([2**24])},
        [0], [0], ([2**24], [2**24], [1]),
    ),
    "a truth value of a difference that may be 0": Edge(
        f"(float[3] x) => (bool[3] y) {{ {NEAR_FIVE} d = Sub (p, five) y = Cast <to=9> (d) }}",
        {"w": FIFTH, "five": np.float32(5)}, [125, 150, 100], [125, 150, 100], ([1, 1, 1], [1, 1, 1], [1, 0, 0]),
    ),
    "a truth value of a range that contains 0": Edge(
        "(float[4] x) => (bool[4] y) { y = Cast <to=9> (x) }", {},
        [-1, 0, 0, 1], [1, 0, 1, 2], ([0, 0, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0]),
    ),
    "a power of an integer with an error": Edge(
        f"(float[1] x) => (int32[1] y) {{ {NEAR_FIVE} n = Cast <to=6> (p) y = Pow (n, two) }}",
        {"w": FIFTH, "two": np.array([2], np.int32)}, [125], [125], ([16], [16], [16 + 2]),
    ),
    "an integer with an error at the upper end of its type": Edge(
        f"(float[1] x) => (int8[1] y) {{ {NEAR_FIVE} n = Cast <to=3> (p) y = Mul (n, k) }}",
        {"w": FIFTH, "k": np.array([25], np.int8)}, [125], [125], ([100], [100], [25]),
    ),
    "an integer with an error beyond the upper end": Edge(
        f"(float[1] x) => (int8[1] y) {{ {NEAR_FIVE} n = Cast <to=3> (p) y = Mul (n, k) }}",
        {"w": FIFTH, "k": np.array([26], np.int8)}, [125], [125], "no wrap-around is not shown",
    ),
    "an integer with an error at the lower end of its type": Edge(
        f"(float[1] x) => (int8[1] y) {{ {NEAR_FIVE} n = Cast <to=3> (p) y = Mul (n, k) }}",
        {"w": FIFTH, "k": np.array([-25], np.int8)}, [125], [125], ([-100], [-100], [25]),
    ),
    "an integer with an error beyond the lower end": Edge(
        f"(float[1] x) => (int8[1] y) {{ {NEAR_FIVE} n = Cast <to=3> (p) y = Mul (n, k) }}",
        {"w": FIFTH, "k": np.array([-26], np.int8)}, [125], [125], "no wrap-around is not shown",
    ),
    "numbers of which one is beyond the type": Edge(
        "(float[2] x) => (int8[2] y) { y = Cast <to=3> (x) }", {},
        [0, 100], [1, 200], "computed values from 0 to 200 are of type int8",
    ),
    "numbers at both ends of the type": Edge(
        "(float[2] x) => (int8[2] y) { y = Cast <to=3> (x) }", {},
        [-128.5, 0], [0, 127.5], ([-128, 0], [0, 127], [0, 0]),
    ),
    "a number just beyond the upper end of the type": Edge(
        "(float[1] x) => (int8[1] y) { y = Cast <to=3> (x) }", {}, [0], [128], "computed values from 0 to 128",
    ),
    "a number just beyond the lower end of the type": Edge(
        "(float[1] x) => (int8[1] y) { y = Cast <to=3> (x) }", {}, [-129], [0], "computed values from -129 to 0",
    ),
    "zeros of unknown sign, of which either may be the largest": Edge(
        "(float[2] x) => (int64[1] y) { y = ArgMax (x) }", {}, [-1, -1], [0, 0], ([0], [1], [1]),
    ),
    "numbers below zero, of which the same is the largest in every implementation": Edge(
        "(float[2] x) => (int64[1] y) { y = ArgMax (x) }", {}, [-1, -1], [-0.5, -0.5], ([0], [1], [0]),
    ),
    "shares of arguments so far apart that nothing is known of their difference": Edge(
        "(float[2] x) => (float[2] y) { y = Softmax <axis=0> (x) }", {},
        [1e8, 0], [1e8, 0], ([1, 0], [1, 0], [1 + 2.0**-4, 1 + 2.0**-4]),
    ),
    "a number that stays one": Edge(
        "(float x) => (float y) { y = Resize (x, , s) }", {"s": np.zeros(0, np.float32)}, 1, 2, (1, 2, 0),
    ),
    "places beside each other of a scale that is a power of two": Edge(
        "(float[2] x) => (float[4] y) { y = Resize <coordinate_transformation_mode=\"asymmetric\"> (x, , s) }",
        {"s": np.array([2], np.float32)}, [1, 3], [2, 4], ([1, 1, 3, 3], [2, 2, 4, 4], [0, 0, 0, 0]),
    ),
    "a place in the middle of a scale that is no power of two": Edge(
        "(float[2] x) => (float[6] y) { y = Resize <coordinate_transformation_mode=\"asymmetric\"> (x, , s) }",
        {"s": np.array([3], np.float32)}, [1, 3], [2, 4], "place is not shown",
    ),
    "a pad below zero beside one above": Edge(
        "(float[1,1,3,3] x) => (float[1,1,3,3] y) { y = ConvTranspose <pads=[-1,1,1,-1]> (x, w) }",
        {"w": np.ones((1, 1, 1, 1), np.float32)}, np.zeros((1, 1, 3, 3)), np.ones((1, 1, 3, 3)),
        "a bound for pads of at least 0",
    ),
    "a number out of a list of one": Edge(
        "(float[1] x) => (float y) { y = Squeeze (x) }", {}, [1], [2], (1, 2, 0),
    ),
    "a term that is scaled by two": Edge(
        "(float[1,1] x) => (float[1,1] y) { y = Gemm <beta=2.0> (a, b, x) }",
        {"a": np.ones((1, 1), np.float32), "b": np.full((1, 1), 8, np.float32)}, [[1]], [[3]],
        ([[10]], [[14]], [[1.66893035e-6]]),
    ),
    "a term that is scaled by a tenth": Edge(
        "(float[1,1] x) => (float[1,1] y) { y = Gemm <beta=0.1> (a, b, x) }",
        {"a": np.ones((1, 1), np.float32), "b": np.full((1, 1), 8, np.float32)}, [[100]], [[300]],
        ([[18]], [[38]], [[4.52995387e-6]]),
    ),
    "a term that is scaled by a number which float16 does not have": Edge(
        "(float16[1,1] x) => (float16[1,1] y) { y = Gemm <beta=0.1> (a, b, x) }",
        {"a": np.ones((1, 1), np.float16), "b": np.full((1, 1), 8, np.float16)}, [[100]], [[300]],
        ([[18]], [[38]], [[0.0558804931]]),
    ),
    "a product that is scaled by two": Edge(
        "(float[1,1] x) => (float[1,1] y) { y = Gemm <alpha=2.0> (x, b) }",
        {"b": np.full((1, 1), 8, np.float32)}, [[1]], [[3]], ([[16]], [[48]], [[5.72204692e-6]]),
    ),
    "a quotient of integers whose divisor has an error": Edge(
        f"(float[1] x) => (int32[1] y) {{ {NEAR_FIVE} n = Cast <to=6> (p) y = Div (k, n) }}",
        {"w": FIFTH, "k": np.array([100], np.int32)}, [125], [125], ([25], [25], [33 - 20]),
    ),
    "a logarithm of a number that may be computed below 0": Edge(
        "(float[1] x) => (float[1] y) { p = Mul (x, w) d = Sub (p, five) y = Log (d) }",
        {"w": THIRD, "five": np.float32(5)}, [15], [15], "computed arguments are at least -4.47e-07",
    ),
    "a sum that overflows if it is scaled at the end": Edge(
        "(float[1,1] x) => (float[1,1] y) { y = Gemm <beta=0.1> (a, b, x) }",
        {"a": np.ones((1, 1), np.float32), "b": np.full((1, 1), 3e38, np.float32)},
        [[0]], [[3e38]], "partial sums before a scale",
    ),
    "a power with a base that is broadcast": Edge(
        "(float[2,1] x) => (float[2,2] y) { y = Pow (x, p) }", {"p": np.array([1, 2], np.float32)},
        [[1], [2]], [[1], [3]], ([[1, 1], [2, 4]], [[1, 1], [3, 9]], None),
    ),
}  # fmt: skip


@each_case("name", EDGES)
def test_the_edge(name: str) -> None:
    edge = EDGES[name]
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {edge.version}]> g {edge.graph}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(x), key) for key, x in edge.constants.items())
    box = {"x": (np.array(edge.low, float), np.array(edge.high, float))}
    if isinstance(edge.expected, str):
        try:
            told = bound(model, box, "ieee-any", unchecked=True)["y"].unbounded
        except NotBounded as reason:
            told = str(reason)
        assert edge.expected in told
        return
    found = bound(model, box, "ieee-any", unchecked=True)["y"]
    assert not found.unbounded
    for what, value, expected in zip(("low", "high", "error"), (found.low, found.high, found.error), edge.expected,
                                     strict=True):  # fmt: skip
        if expected is not None:
            assert value.shape == np.shape(expected), what
            assert value.tolist() == pytest.approx(np.array(expected, float), rel=1e-6, abs=1e-30), what


def test_an_average_of_neighbours_is_off_by_few_roundings() -> None:
    """Weights follow from places, which are off by a few roundings of numbers up to 8."""
    text = '(float[2] x) => (float[4] y) { y = Resize <mode="linear"> (x, , s) }'
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 13]> g {text}')
    model.graph.initializer.append(numpy_helper.from_array(np.array([2], np.float32), "s"))
    found = bound(model, {"x": (np.array([1.0, 3.0]), np.array([2.0, 4.0]))}, "ieee-any", unchecked=True)["y"]
    assert found.low.tolist() == pytest.approx([1, 1.5, 2.5, 3])
    assert found.high.tolist() == pytest.approx([2, 2.5, 3.5, 4])
    assert 0 < found.error.max() < 128 * 8 * 2.0**-24


@each_case("element", FORMATS)
def test_formats_are_those_of_numpy_and_ml_dtypes(element: str) -> None:
    kind = {"float": "float32", "double": "float64"}.get(element, element)
    stated, made = ml_dtypes.finfo(kind), FORMATS[element]
    assert made.name == element
    assert made.unit == float(stated.eps) / 2
    assert made.tiny == float(stated.smallest_subnormal)
    assert made.normal == float(stated.smallest_normal)
    assert made.largest == float(stated.max)
    assert representable(made.largest, element)
    assert not representable(made.largest * (1 + made.unit / 4), element) or element == "double"


def test_lanes_are_stated_with_their_order_only() -> None:
    assert SumOrder("any") == SumOrder("any", 0)
    assert SumOrder("pairwise").depth(9) == 4
    assert SumOrder("lanes", 4).depth(9) == 3 + 4 - 1


GATES = {"Sigmoid": (lambda x: 1 / (1 + np.exp(-x))), "Relu": (lambda x: np.maximum(x, 0)), "Tanh": np.tanh}


@each_case("gate", GATES)
@each_case("ends", [(-1.0, 1.0), (1.0, 2.0), (-3.0, -2.0)])
def test_a_gated_unit_with_other_gates(gate: str, ends: tuple[float, float]) -> None:
    """y = (1 - z) c + z h of two steps, of a candidate c and the state h; between them if z is between 0 and 1."""
    W, R = np.array([[[1.0], [0.5], [2.0]]], np.float32), np.array([[[0.5], [0.25], [1.0]]], np.float32)
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 13]> g (float[2,1,1] x) => (float[2,1,1,1] y) '
        f'{{ y = GRU <hidden_size=1, activations=["{gate}","Tanh"]> (x, W, R) }}'
    )
    model.graph.initializer.extend([numpy_helper.from_array(W, "W"), numpy_helper.from_array(R, "R")])
    low, high = (np.full((2, 1, 1), end) for end in ends)
    found = bound(model, {"x": (low, high)}, "ieee-any", unchecked=True)["y"]
    if gate == "Sigmoid":
        assert found.low.min() >= -1
        assert found.high.max() <= 1
    f = GATES[gate]
    first, second = np.meshgrid(*[np.linspace(*ends, 41)] * 2)
    h = np.zeros_like(first)
    for step, x in enumerate((first, second)):
        z, r = f(x + 0.5 * h), f(0.5 * x + 0.25 * h)
        h = (1 - z) * np.tanh(2 * x + r * h) + z * h
        assert found.low[step].item() <= h.min()
        assert h.max() <= found.high[step].item()
