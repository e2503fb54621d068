"""Bounds around a reference run: of deep networks, against values and against rows that are followed one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pytest

import sonnx
from sonnx.bounds import adjoint, around
from sonnx.bounds.analysis import Analyser, Run
from sonnx.bounds.box import box_of_arrays
from sonnx.bounds.screening import SharedRows
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support.cases import crossed, each_case, examples
from tests.support.deep_networks import SMALL, centre_of

HEAD = '<ir_version: 9, opset_import: ["" : 17]> g '


def run_around(model: onnx.ModelProto, centre: np.ndarray[Any, Any], radius: float, name: str = "ieee-any") -> Run:
    ready = read(model.SerializeToString())
    analyser = Analyser(ready, hypotheses_named(name))
    ends = (centre - radius, centre + radius) if radius else centre
    box = box_of_arrays(ready, {"x": ends})
    return analyser.around_reference(box, analyser.run(box))


def by_onnxruntime(model: onnx.ModelProto, level: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL)[level]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda x: session.run(None, {"x": x})[0]


@each_case("kind, seed, radius", crossed(SMALL, range(examples(1, 20)), [0.0, 1e-3, 0.05], every=3))
def test_values_lie_within_the_bounds_around_a_reference(kind: str, seed: int, radius: float) -> None:
    """Of the executor for ideal values, and of onnxruntime; by the bounds around the reference alone."""
    model, draw = SMALL[kind](seed), np.random.default_rng(seed)
    centre = centre_of(model, seed)
    output = model.graph.output[0].name
    value = run_around(model, centre, radius, "onnxruntime-cpu").values[output].closer
    if value is None:  # normalizations of numbers about 0 on a wide box
        assert radius > 1e-3
        return
    computed = value.computed
    runs = [by_onnxruntime(model, level) for level in (0, 1)]
    for _ in range(8):
        share = draw.choice([-1, 1], centre.shape) if draw.integers(2) else draw.uniform(-1, 1, centre.shape)
        x = (centre.astype(float) + 0.999 * radius * share).astype("f4")
        for y in (run(x) for run in runs):
            assert (computed.low - computed.error <= y).all()
            assert (y <= computed.high + computed.error).all()


@each_case("kind", list(SMALL))
def test_errors_at_a_point_are_smaller_than_those_of_intervals(kind: str) -> None:
    model = SMALL[kind](3)
    output = model.graph.output[0].name
    run = run_around(model, centre_of(model), 0.0)
    value = run.values[output]
    assert value.closer is not None
    assert value.closer.computed.error.max() < 1e-4
    assert value.closer.ideal.error.max() < 1e-10


CONVOLUTIONS = {
    "padding and strides": (
        "a = Conv<pads = [1, 1, 1, 1]>(x, k) b = Relu(a) c = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(b, k)"
        " d = Relu(c) y = Conv<pads = [1, 1, 1, 1]>(d, k)"
    ),
    "a sum of two paths": (
        "a = Conv<pads = [1, 1, 1, 1]>(x, k) b = Relu(a) c = Conv<pads = [1, 1, 1, 1]>(b, k) d = Add(c, a)"
        " e = Relu(d) y = Conv<pads = [0, 1, 0, 1]>(e, k)"
    ),
    "pooling and dilations": (
        "a = Conv<dilations = [2, 1], pads = [2, 1, 2, 1]>(x, k)"
        " b = MaxPool<kernel_shape = [2, 3], pads = [1, 1, 0, 1]>(a)"
        " c = AveragePool<kernel_shape = [2, 2], strides = [1, 2]>(b) d = Tanh(c) y = Conv<pads = [1, 1, 1, 1]>(d, k)"
    ),
}


@each_case("name", list(CONVOLUTIONS))
@each_case("seed", range(examples(1, 10)))
def test_rows_followed_together_are_those_followed_one_by_one(name: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    kernel = ", ".join(f"{each:.3f}" for each in draw.uniform(-1, 1, 36))
    text = f"{HEAD}(float[1, 2, 11, 9] x) => (float[1, 2, H, W] y) <float[2, 2, 3, 3] k = {{{kernel}}}> "
    model = onnx.parser.parse_model(text + f"{{ {CONVOLUTIONS[name]} }}")
    closer = run_around(model, draw.uniform(-1, 1, (1, 2, 11, 9)).astype("f4"), 1e-4).values["y"].closer
    assert closer is not None
    for value in closer:
        windows = SharedRows.before(value, lambda _, reach: False)
        assert windows is not None
        single = adjoint.errors(value, adjoint.one_hot(value.shape, np.arange(value.low.size))).reshape(value.shape)
        together = windows.errors()
        assert (together >= single * (1 - 1e-12)).all()
        assert together == pytest.approx(single, rel=1e-9)
        assert windows.work < value.low.size * windows.size, "windows are smaller than the tensor"


def test_rows_end_with_the_error_of_the_value_where_they_end() -> None:
    """Where they end at the argument of the last convolution, its own errors count: more than the whole rows give."""
    model = SMALL["resnet"](1)
    closer = run_around(model, centre_of(model), 0.0).values["v13"].closer
    assert closer is not None
    value = closer.computed
    windows = SharedRows.before(value, lambda v, reach: reach.last[0] - reach.first[0] > 1)
    whole = adjoint.errors(value, adjoint.one_hot(value.shape, np.arange(value.low.size))).reshape(value.shape)
    assert windows is not None and windows.spacing == (3, 3)
    assert (windows.errors() >= whole * (1 - 1e-12)).all()


def test_a_budget_that_is_spent_leaves_the_errors_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SMALL["transformer"](0)
    centre, output = centre_of(model), model.graph.output[0].name
    whole = run_around(model, centre, 0.0)
    monkeypatch.setattr(around, "MAX_NUMBERS", 0)
    without = run_around(model, centre, 0.0)
    assert without.domain.coarse
    assert (without.values[output].error >= whole.values[output].error).all()


def test_a_decision_follows_the_difference_of_two_outputs() -> None:
    """The rows of a difference are followed around the reference as well, so common causes count once."""
    model = SMALL["transformer"](0)
    x = centre_of(model)
    found = sonnx.bound(model.SerializeToString(), {"x": (x - 1e-3, x + 1e-3)}, differences=[(0, 1)], unchecked=True)
    [decision] = found.decisions
    y = found.outputs[0]
    low, high, error = (array.reshape(-1) for array in (y.low, y.high, y.error))
    assert decision.high - decision.low < high[0] - low[1] - (low[0] - high[1])
    assert decision.error <= error[0] + error[1]


def test_whole_numbers_in_a_box_have_no_reference() -> None:
    """The centre of 0 and 1 is not a whole number: the bounds are those without a reference."""
    text = f"{HEAD}(int32[2] x) => (float[2] y) {{ c = Cast<to = 1>(x) y = Tanh(c) }}"
    model = onnx.parser.parse_model(text)
    ready = read(model.SerializeToString())
    analyser = Analyser(ready, hypotheses_named("ieee-any"))
    box = box_of_arrays(ready, {"x": (np.zeros(2), np.ones(2))})
    run = analyser.run(box)
    assert analyser.around_reference(box, run) is run


def test_values_without_bounds_around_a_reference_keep_theirs() -> None:
    """A comparison that the box does not decide has no reference."""
    text = f"{HEAD}(float[2] x) => (float[2] y) {{ b = Less(x, z) y = Where(b, x, z) }}"
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(2, "f4"), "z"))
    run = run_around(model, np.zeros(2, "f4"), 1.0)
    assert not run.values["y"].unbounded
    assert replace(run.values["y"], closer=None).low.min() == pytest.approx(-1.0)
