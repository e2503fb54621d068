"""How rows over an output become rows over the inputs, against the operator itself; errors of divisors and scales."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import onnx.parser

import sonnx
from sonnx.bounds import adjoint, kinks
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import Interval
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value
from tests.support.cases import each_case

HEAD = '<ir_version: 9, opset_import: ["" : 13]> g '
LINEAR = {
    "groups and two samples": (
        "double[2, 4, 5] x", "double[2, 6, 3] y", "double[6, 2, 2] w",
        "y = Conv <group = 2, kernel_shape = [2], strides = [2], dilations = [1], pads = [1, 1]> (x, w)",
    ),
    "three groups in two dimensions": (
        "double[2, 3, 4, 3] x", "double[2, 6, 3, 2] y", "double[6, 1, 2, 2] w",
        "y = Conv <group = 3, kernel_shape = [2, 2], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]> (x, w)",
    ),
    "transposed with groups": (
        "double[2, 4, 3] x", "double[2, 6, 6] y", "double[4, 3, 2] w",
        "y = ConvTranspose <group = 2, kernel_shape = [2], strides = [2]> (x, w)",
    ),
    "transposed with padding on both sides": (
        "double[1, 2, 3] x", "double[1, 1, 3] y", "double[2, 1, 3] w",
        "y = ConvTranspose <kernel_shape = [3], pads = [1, 1]> (x, w)",
    ),
    "integers with padding at the beginning": (
        "uint8[1, 1, 3, 2] x", "int32[1, 2, 4, 1] y", "uint8[2, 1, 2, 2] w",
        "y = ConvInteger <pads = [1, 0, 0, 0]> (x, w)",
    ),
    "scaled product": (
        "double[3, 4] x", "double[2, 4] y", "double[3, 2] w", "y = Gemm <transA = 1, alpha = 2.5> (w, x)",
    ),
    "product of stacks": ("double[2, 1, 3, 4] x", "double[2, 3, 3, 2] y", "double[3, 4, 2] w", "y = MatMul(x, w)"),
    "vector": ("double[4] x", "double[3] y", "double[4, 3] w", "y = MatMul(x, w)"),
    "broadcast factor": ("double[2, 1] x", "double[3, 2, 4] y", "double[3, 1, 4] w", "y = Mul(x, w)"),
}  # fmt: skip


def shape_of(text: str) -> list[int]:
    return [int(each) for each in text.partition("[")[2].partition("]")[0].split(",")]


def moved_back(value: Value, rows: np.ndarray[Any, Any], deviation: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The rows over a value, moved back to the input x, times its deviation."""
    if value.name == "x":
        return (rows * deviation).reshape(len(rows), -1).sum(axis=1)
    made = np.zeros(len(rows))
    assert value.transfer is not None
    for each, pull in zip(value.transfer.inputs, value.transfer.pulls, strict=True):
        made += moved_back(each, pull(rows), deviation)
    return made


@each_case("name", LINEAR)
def test_rows_over_an_output_are_those_over_its_inputs(name: str) -> None:
    """Σ rows · f(d) = Σ pull(rows) · d for a linear operator; the inputs are small integers, so all sums are exact."""
    given, made, weights, body = LINEAR[name]
    draw = np.random.default_rng(5)
    kind = np.dtype(given.partition("[")[0])
    shift = 4 if kind == np.uint8 else 0
    w = (draw.integers(-4, 5, shape_of(weights)) + shift).astype(kind)
    model = onnx.parser.parse_model(f"{HEAD}({given}) => ({made}) {{ {body} }}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    source = model.SerializeToString()
    x = (draw.integers(-4, 5, shape_of(given)) + 2 * shift).astype(float)
    value = Analyser(read(source), hypotheses_named("ieee-any")).run({"x": Interval(x - 1, x + 1)}).values["y"]
    rows = draw.integers(-3, 4, (3, *value.shape)).astype(float)
    deviation = (draw.integers(-2, 3, x.shape) + shift).astype(kind)
    wanted = [float((row * sonnx.run(source, {"x": deviation}, unchecked=True)["y"]).sum()) for row in rows]
    assert moved_back(value, rows, deviation).tolist() == wanted


@each_case("ends", [(1, 4), (-4, -1), (0.25, 0.5), (-3, -2), (2, 1024)])
def test_errors_of_both_operands_of_a_quotient(ends: tuple[float, float]) -> None:
    """A and B are rounded products before; the quotient of any two values within their errors is within its error."""
    low, high = ends
    body = "float[1] s = {3.0}> { p = Mul(a, s) q = Mul(b, s) y = Div(p, q) }"
    source = onnx.parser.parse_model(f"{HEAD}(float[1] a, float[1] b) => (float[1] y) <{body}").SerializeToString()
    box = {"a": Interval(np.array([-2.0]), np.array([5.0])), "b": Interval(np.array([low]), np.array([high]))}
    values = Analyser(read(source), hypotheses_named("ieee-any")).run(box).values
    p, q, y = (values[name] for name in "pqy")
    bound, errors = Fraction(float(y.error[0])), [Fraction(float(each.error[0])) for each in (p, q)]
    worst = Fraction(0)
    for a, b in product((-2, 0, 5), (low, (low + high) / 2, high)):
        for signs in product((-1, 1), repeat=2):
            ideal = Fraction(a) / Fraction(b)
            top = 3 * Fraction(a) + signs[0] * errors[0]
            bottom = 3 * Fraction(b) + signs[1] * errors[1]
            worst = max(worst, abs(top / bottom - ideal))
    assert worst <= bound
    assert bound <= 4 * worst + Fraction(2) ** -22 * Fraction(float(max(abs(y.low[0]), abs(y.high[0]))))


@each_case("beta", [2.0, -0.5])
def test_a_scaled_addend_has_its_range(beta: float) -> None:
    body = f"float[2, 2] w = {{1.0, 0.0, 0.0, 1.0}}> {{ y = Gemm <beta = {beta}> (x, w, c) }}"
    text = f"{HEAD}(float[2, 2] x, float[1, 2] c) => (float[2, 2] y) <{body}"
    box = {
        "x": Interval(np.zeros((2, 2)), np.ones((2, 2))),
        "c": Interval(np.array([[-3.0, 1.0]]), np.array([[5.0, 2.0]])),
    }
    values = Analyser(read(onnx.parser.parse_model(text).SerializeToString()), hypotheses_named("ieee-any"))
    y = values.run(box).values["y"]
    ends = np.sort([[beta * -3, beta * 1], [beta * 5, beta * 2]], axis=0)
    assert np.allclose(y.low, ends[:1], atol=1e-9)
    assert np.allclose(y.high, ends[1:] + 1, atol=1e-9)
    assert (y.low <= ends[:1]).all()
    assert (y.high >= ends[1:] + 1).all()


@each_case(("divisors", "quotients"), [((2, 5), (-7, 15)), ((-5, -2), (-15, 7)), ((1, 1), (-14, 30))])
def test_quotients_of_integers_are_whole(divisors: tuple[int, int], quotients: tuple[int, int]) -> None:
    text = f"{HEAD}(int32[1] a, int32[1] b) => (int32[1] y) {{ y = Div(a, b) }}"
    model = read(onnx.parser.parse_model(text).SerializeToString())
    box: Any = {
        "a": Interval(np.array([-14.0]), np.array([30.0])),
        "b": Interval(*(np.array([float(each)]) for each in divisors)),
    }
    y = Analyser(model, hypotheses_named("ieee-any")).run(box).values["y"]
    assert (float(y.low[0]), float(y.high[0])) == quotients


READ_ONCE = {
    "a rectifier of an input": ("y = Relu(x)", True),
    "functions one after the other": ("a = Sigmoid(x) b = Exp(a) y = Neg(b)", True),
    "a product of a function of an input": ("a = Tanh(x) y = MatMul(a, w)", True),
    "two inputs": ("a = Sigmoid(x) y = Add(a, u)", True),
    "a function of a product": ("a = MatMul(x, w) y = Relu(a)", False),
    "a product of a product": ("a = MatMul(x, w) y = MatMul(a, w)", False),
    "an input twice": ("a = Neg(x) y = Add(x, a)", False),
    "a function of an input twice": ("a = Sigmoid(x) b = Tanh(x) y = Sub(a, b)", False),
}


@each_case("name", READ_ONCE)
def test_rows_show_no_more_than_the_forward_pass_where_each_element_is_read_once(name: str) -> None:
    body, once = READ_ONCE[name]
    w = "double[3, 3] w = {1.0, -2.0, 0.5, 3.0, -1.0, 1.5, -0.5, 2.0, -4.0}"
    text = f"{HEAD}(double[2, 3] x, double[2, 3] u) => (double[2, 3] y) <{w}> {{ {body} }}"
    model = read(onnx.parser.parse_model(text).SerializeToString())
    x = np.arange(-3.0, 3.0).reshape(2, 3) / 4
    box = {"x": Interval(x - 1, x + 1), "u": Interval(x, x + 3)}
    run = Analyser(model, hypotheses_named("ieee-any")).run(box)
    y = run.values["y"]
    assert run.domain.is_read_once(y) == once
    rows = adjoint.one_hot(y.shape, np.arange(y.low.size))
    low, high = (ends.reshape(y.shape) for ends in kinks.ranges(y, rows, kinks.ROUNDS))
    error = adjoint.errors(y, rows).reshape(y.shape)
    if once:
        assert (low <= y.low + 1e-9).all()
        assert (high >= y.high - 1e-9).all()
        assert (error >= y.error * (1 - 1e-9)).all()
    elif "function of a product" not in name:
        assert (low > y.low + 1e-9).any() or (error < y.error * (1 - 1e-9)).any()
