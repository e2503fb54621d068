"""An error is at most what the values of a function allow, and a report says which bounds say nothing."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import helper, numpy_helper

import sonnx
from sonnx.report.bounds import BoundsReport
from tests.support.cases import DEEP, each_case, examples

STEPS = examples(8, 20)
"""After so many the errors say nothing where no invariant bounds them."""
HEAD = '<ir_version: 9, opset_import: ["" : 14]> g '


def recurrent(operator: str, steps: int, seed: int = 0) -> bytes:
    """A cell of 4 inputs and 6 hidden elements; the states of one input row are the output."""
    draw, gates = np.random.default_rng(seed), 4 if operator == "LSTM" else 3
    weights = {"W": (1, gates * 6, 4), "R": (1, gates * 6, 6), "B": (1, 2 * gates * 6)}
    constants = [numpy_helper.from_array(draw.normal(0, 0.7, size).astype("f4"), n) for n, size in weights.items()]
    node = helper.make_node(operator, ["x", "W", "R", "B"], ["", "h"], hidden_size=6)
    values = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [steps, 1, 4]), ("h", [1, 1, 6]))]
    graph = helper.make_graph([node], "g", values[:1], values[1:], constants)
    return bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9).SerializeToString()
    )


ALL_STATES = [(operator, radius) for operator in ("LSTM", "GRU") for radius in (0.1, 1.0, 100.0)]


@each_case("operator, radius", ALL_STATES if DEEP else [("LSTM", 100.0), ("GRU", 1.0)])
def test_a_cell_is_bounded_by_its_invariants(operator: str, radius: float) -> None:
    """The states lie between -1 and 1 in every implementation, but for the roundings of some steps."""
    ends = np.full((STEPS, 1, 4), radius, np.float32)
    found = sonnx.bound(recurrent(operator, STEPS), {"x": (-ends, ends)}, unchecked=True)["h"]
    assert not found.unbounded
    assert (np.maximum(np.abs(found.low), np.abs(found.high)) <= 1.0001).all()
    assert (found.error <= 2.001).all()
    assert found.vacuous == 6


@each_case("operator", ["LSTM", "GRU"])
def test_values_of_a_runtime_lie_within_capped_bounds(operator: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    draw, model = np.random.default_rng(5), recurrent(operator, 6)
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for radius in (0.0, 1e-2, 1.0) if DEEP else (1e-2,):
        x = draw.normal(size=(6, 1, 4)).astype("f4")
        found = sonnx.bound(model, {"x": (x - radius, x + radius)}, "onnxruntime-cpu", unchecked=True)["h"]
        for _ in range(20):
            [h] = session.run(
                None, {"x": (x + radius * draw.uniform(-1, 1, x.shape)).astype("f4").clip(x - radius, x + radius)}
            )
            assert (h >= found.low - found.error).all()
            assert (h <= found.high + found.error).all()


@each_case(
    ("function", "most"),
    [("Tanh", 2.0), ("Sigmoid", 1.0), ("Erf", 2.0), ("Sin", 2.0), ("Softplus", 3e4), ("Exp", 3e38)],
)
def test_an_error_does_not_exceed_the_range_of_a_function(function: str, most: float) -> None:
    """The difference of two nearly equal sums of size 1e9 has an error of some hundreds, and a function does not."""
    body = f"<float[1] k = {{1.0e9}}> {{ a = Add(x, k) b = Sub(a, k) y = {function}(b) }}"
    model = onnx.parser.parse_model(f"{HEAD}(float[1] x) => (float[1] y) {body}").SerializeToString()
    if function == "Exp":
        model = model.replace(np.float32(1e9).tobytes(), np.float32(1e6).tobytes())
    found = sonnx.bound(model, {"x": (np.full(1, -1.0), np.full(1, 1.0))}, unchecked=True)["y"]
    assert found.error[0] <= most * 1.001


def test_a_report_says_that_a_bound_says_nothing() -> None:
    body = "<float[1] k = {1.0e9}> { a = Add(x, k) b = Sub(a, k) y = Tanh(b) z = Relu(x) }"
    model = onnx.parser.parse_model(f"{HEAD}(float[1] x) => (float[1] y, float[1] z) {body}").SerializeToString()
    found = sonnx.bound(model, {"x": (np.full(1, -1.0), np.full(1, 1.0))}, unchecked=True)
    assert isinstance(found, BoundsReport)
    assert (found["y"].vacuous, found["z"].vacuous) == (1, 0)
    text = found.to_format("text")
    assert "all requested bounds are proved; vacuous: 1 of 2 outputs" in text
    assert "the bounds of 'y' say nothing about 1 of 1 element: the error exceeds the value" in text
