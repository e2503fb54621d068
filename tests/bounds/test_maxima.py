"""Maxima depend on their candidates: ranges follow them by pairs, and lie around what samples give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx.parser
import pytest

import sonnx
from tests.support.cases import each_case, examples

HEAD = '<ir_version: 9, opset_import: ["" : 18]> g '
BODIES = {
    "MaxPool": "t = MatMul(x, w) r = Reshape(t, s) p = MaxPool<kernel_shape = [2], strides = [1], pads = [1, 1]>(r)",
    "GlobalMaxPool": "t = MatMul(x, w) r = Reshape(t, s) p = GlobalMaxPool(r)",
    "ReduceMax": "t = MatMul(x, w) r = Reshape(t, s) p = ReduceMax<keepdims = 1>(r, a)",
    "Max": "t = MatMul(x, w) u = MatMul(x, v) p = Max(t, u, c)",
    "Min": "t = MatMul(x, w) u = MatMul(x, v) p = Min(t, u, c)",
    "Abs": "t = MatMul(x, w) u = MatMul(x, v) d = Sub(t, u) p = Abs(d)",
}
CONSTANTS = "int64[3] s = {1, 2, 3}, int64[1] a = {2}, int64[1] e = {-1}, float[1] c = {0.3}"


def numbers(draw: np.random.Generator) -> str:
    return ", ".join(f"{each:.3f}" for each in draw.uniform(-1, 1, 18))


def model_of(operator: str, seed: int) -> bytes:
    """A sum over an operator on 6 linear functions of 3 inputs."""
    draw = np.random.default_rng(seed)
    weights = f"float[3, 6] w = {{{numbers(draw)}}}, float[3, 6] v = {{{numbers(draw)}}}"
    body = f"{BODIES[operator]} f = Reshape(p, e) y = ReduceSum<keepdims = 1>(f)"
    text = f"{HEAD}(float[1, 3] x) => (float[1] y) <{CONSTANTS}, {weights}> {{ {body} }}"
    return bytes(onnx.parser.parse_model(text).SerializeToString())


@each_case("operator", list(BODIES))
@each_case("seed", range(examples(1, 20)))
@each_case("radius", [1e-3, 0.1, 1.0])
def test_samples_lie_within_the_range(operator: str, seed: int, radius: float) -> None:
    model, draw = model_of(operator, seed), np.random.default_rng(seed + 1000)
    centre = draw.uniform(-1, 1, (1, 3)).astype("f4")
    found = sonnx.bound(model, {"x": (centre - radius, centre + radius)}, unchecked=True)["y"]
    assert not found.unbounded
    prepared = sonnx.prepare(model, unchecked=True)
    for _ in range(20):
        share = draw.choice([-0.999, 0.999, draw.uniform(-0.9, 0.9)], (1, 3))
        [y] = prepared.run({"x": (centre + radius * share).astype("f4")}).values()
        assert found.low[0] - found.error[0] <= y[0] <= found.high[0] + found.error[0]


@each_case(
    ("body", "width"),
    [
        ("n = Neg(x) m = Max(x, n) y = Sub(m, x)", 2.0),  # |x| - x
        ("a = Abs(x) y = Sub(a, x)", 2.0),
        ("m = Max(x, z) y = Sub(m, x)", 1.0),  # relu(-x)
        ("m = Min(x, z) y = Sub(x, m)", 1.0),
        ("h = Add(x, o) m = Max(x, h) y = Sub(m, x)", 0.0),  # 1, decided
        ("h = Add(x, o) m = Min(x, h) y = Sub(m, x)", 0.0),
    ],
)
def test_a_difference_from_a_maximum_is_followed(body: str, width: float) -> None:
    """With intervals alone each of these is at least one wider."""
    text = f"{HEAD}(float[1] x) => (float[1] y) <float[1] z = {{0}}, float[1] o = {{1}}> {{ {body} }}"
    model = onnx.parser.parse_model(text).SerializeToString()
    found = sonnx.bound(model, {"x": (np.full(1, -1.0), np.full(1, 1.0))}, unchecked=True)["y"]
    assert found.high[0] - found.low[0] <= width + 1e-6


def test_padding_is_never_the_largest() -> None:
    body = "r = Sub(x, t) p = MaxPool<kernel_shape = [3], pads = [1, 1]>(r) y = Sub(p, r)"
    text = f"{HEAD}(float[1, 1, 4] x) => (float[1, 1, 4] y) <float[1] t = {{9}}> {{ {body} }}"
    model = onnx.parser.parse_model(text).SerializeToString()
    low, high = np.full((1, 1, 4), -1.0), np.full((1, 1, 4), 1.0)
    found = sonnx.bound(model, {"x": (low, high)}, unchecked=True)
    assert (found["p"].high <= -7.999).all()
    assert (found["y"].low >= -1e-6).all()
    assert found["p"].low.max() == pytest.approx(float(Fraction(-10)))
