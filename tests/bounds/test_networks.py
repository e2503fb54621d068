"""Whole networks: every tensor, for points and boxes, against long double, onnxruntime and the executor."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx import bound
from sonnx.base.errors import BadInput
from sonnx.bounds.analysis import Analyser, bound_model, tightened
from sonnx.bounds.box import box_of_arrays as make_box
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support.cases import DEEP, crossed, each_case, examples
from tests.support.ideal import evaluate

ort = pytest.importorskip("onnxruntime")
CNN = Path(__file__).parent.parent / "models" / "cnn.onnx"


def dense(seed: int, sizes: list[int], activation: str, *, split_bias: bool = True) -> Any:
    """A network of dense layers with random weights."""
    source, nodes, weights, value = np.random.default_rng(seed), [], [], "x"
    for layer, (rows, columns) in enumerate(pairwise(sizes)):
        w = (source.normal(size=(rows, columns)) * (1.6 / rows**0.5)).astype(np.float32)
        b = (source.normal(size=(columns,)) * 0.2).astype(np.float32)
        weights += [numpy_helper.from_array(w, f"w{layer}"), numpy_helper.from_array(b, f"b{layer}")]
        if split_bias:
            nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [f"p{layer}"]))
            nodes.append(helper.make_node("Add", [f"p{layer}", f"b{layer}"], [f"s{layer}"]))
        else:
            nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], [f"s{layer}"]))
        value = f"s{layer}"
        if layer < len(sizes) - 2:
            nodes.append(helper.make_node(activation, [value], [f"a{layer}"]))
            value = f"a{layer}"
    return _model(nodes, weights, (1, sizes[0]), value, (1, sizes[-1]))


def residual(seed: int) -> Any:
    """Convolutions with BatchNormalization, a residual sum of two paths, pooling, and a division by a constant."""
    source = np.random.default_rng(seed)

    def weight(name: str, *shape: int, positive: bool = False) -> Any:
        made = source.normal(size=shape) * 0.4
        return numpy_helper.from_array((abs(made) + 0.05 if positive else made).astype(np.float32), name)

    weights = [
        weight("w0", 4, 2, 3, 3), weight("b0", 4), weight("w1", 4, 4, 3, 3), weight("w2", 4, 4, 1, 1),
        weight("scale", 4), weight("shift", 4), weight("mean", 4), weight("var", 4, positive=True),
        weight("w3", 36, 5), weight("b3", 5), numpy_helper.from_array(np.array([3.0], np.float32), "three"),
        numpy_helper.from_array(np.array([1, 36], np.int64), "shape"),
    ]  # fmt: skip
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], **pads),
        helper.make_node("BatchNormalization", ["c0", "scale", "shift", "mean", "var"], ["n0"]),
        helper.make_node("Relu", ["n0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], **pads),
        helper.make_node("Conv", ["r0", "w2"], ["c2"]),
        helper.make_node("Add", ["c1", "c2"], ["sum"]),
        helper.make_node("LeakyRelu", ["sum"], ["r1"], alpha=0.1),
        helper.make_node("MaxPool", ["r1"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["pool", "shape"], ["flat"]),
        helper.make_node("Div", ["flat", "three"], ["third"]),
        helper.make_node("Gemm", ["third", "w3", "b3"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["y"], axis=1),
    ]
    return _model(nodes, weights, (1, 2, 6, 6), "y", (1, 5))


def _model(nodes: Any, weights: Any, shape: tuple[int, ...], output: str, out_shape: tuple[int, ...]) -> Any:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, out_shape)], weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


MODELS = {
    "dense": lambda: dense(1, [5, 20, 20, 20, 4], "Relu"),
    "gemm": lambda: dense(2, [6, 30, 30, 3], "Relu", split_bias=False),
    "tanh": lambda: dense(3, [5, 20, 20, 4], "Tanh"),
    "sigmoid": lambda: dense(4, [5, 20, 20, 4], "Sigmoid", split_bias=False),
    "deep": lambda: dense(5, [4, *[12] * 8, 2], "LeakyRelu"),
    "residual": lambda: residual(6),
    "cnn": lambda: onnx.load(CNN),
}


def sessions(model: Any) -> list[tuple[Any, list[str]]]:
    """onnxruntime at its levels: every value, which keeps fusions away, and the outputs only."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output]
    outputs = {value.name for value in model.graph.output}
    every.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in outputs)
    made = []
    levels = ort.GraphOptimizationLevel
    for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 3
        for each, listed in ((every, names), (model, sorted(outputs))):
            made.append((ort.InferenceSession(each.SerializeToString(), options), listed))
    return made


@each_case(("name", "radius"), crossed(MODELS, [0.0, 1e-3, 0.1], every=2))
def test_every_value_of_every_implementation_is_within_its_bound(name: str, radius: float) -> None:
    model, source = MODELS[name](), np.random.default_rng(11)
    data, [declared] = model.SerializeToString(), model.graph.input[:1]
    shape = [each.dim_value for each in declared.type.tensor_type.shape.dim]
    if name == "cnn" and radius > 0.05:
        pytest.skip("takes long")
    analyser, runs = Analyser(read(data), hypotheses_named("onnxruntime-cpu")), sessions(model)
    scales = (0.3, 2.0)
    for scale in scales if DEEP else scales[list(MODELS).index(name) % 2 :][:1]:
        centre = (source.normal(size=shape) * scale).astype(np.float32)
        ends = (centre - np.float32(radius), centre + np.float32(radius)) if radius else centre
        found = analyser.run(make_box(analyser.model, {declared.name: ends}))
        values = {**found.values, **{each.name: tightened(found, each.name) for each in model.graph.output}}
        executor = bound(data, {declared.name: ends}, "executor", unchecked=True)
        for _ in range(examples(3, 6) if radius else 1):
            x = (centre + np.float32(radius) * source.choice([-1, 1, 0.3], size=shape)).astype(np.float32)
            x = np.clip(x, centre - np.float32(radius), centre + np.float32(radius))
            ideal = evaluate(model, {declared.name: x})
            for each, value in values.items():
                assert (
                    np.maximum(value.low - ideal[each], ideal[each] - value.high) <= 1e-17 * abs(ideal[each])
                ).all(), each
            for session, names in runs:
                for each, computed in zip(names, session.run(names, {declared.name: x}), strict=True):
                    assert _within(values[each], computed), each
            ours = sonnx.run(data, {declared.name: x}, unchecked=True)
            for each, computed in ours.items():
                assert _within(executor[each], computed), each


def _within(value: Any, computed: Any) -> bool:
    if computed.dtype.kind != "f":
        return True
    outside = np.maximum(value.low - computed.astype(float), computed.astype(float) - value.high)
    return bool((outside <= value.error).all())


@each_case("name", ["dense", "residual", "tanh"])
def test_the_adjoint_pass_and_the_relaxation_never_make_a_bound_larger(name: str) -> None:
    model = MODELS[name]()
    parsed, declared = read(model.SerializeToString()), model.graph.input[0]
    shape = [each.dim_value for each in declared.type.tensor_type.shape.dim]
    centre = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    box = make_box(parsed, {declared.name: (centre - np.float32(0.05), centre + np.float32(0.05))})
    plain = Analyser(parsed, hypotheses_named("ieee-any"), tighten=False).run(box)
    better = Analyser(parsed, hypotheses_named("ieee-any")).run(box)
    output = model.graph.output[0].name
    first, second = plain.values[output], tightened(better, output)
    assert (second.error <= first.error * (1 + 1e-12)).all()
    assert (second.high - second.low <= (first.high - first.low) * (1 + 1e-9)).all()
    assert second.error.max() < 0.9 * first.error.max()


SMALL = dense(1, [5, 20, 20, 4], "Relu")
SMALL_BOX = {"x": (np.full((1, 5), -0.4), np.full((1, 5), 0.4))}


@pytest.fixture(scope="module")
def halved() -> tuple[float, Any]:
    """An error that the bounds on the whole box do not show, and the parts that show it."""
    data = SMALL.SerializeToString()
    error = sonnx.bound(data, SMALL_BOX, unchecked=True).outputs[0].largest_error / 1.5
    return error, sonnx.bound(data, SMALL_BOX, unchecked=True, max_error=error, split=600)


def test_bisection_shows_a_smaller_error_and_keeps_every_value(halved: tuple[float, Any]) -> None:
    model, (error, parts) = SMALL, halved
    assert parts.split is not None
    assert parts.split.finished
    assert parts.outputs[0].largest_error <= error
    for _ in range(100):
        x = np.random.default_rng(_).uniform(-0.4, 0.4, (1, 5)).astype(np.float32)
        ideal = evaluate(model, {"x": x})[parts.outputs[0].name]
        assert (ideal >= parts.outputs[0].low - 1e-18).all()
        assert (ideal <= parts.outputs[0].high + 1e-18).all()


def test_a_bisection_that_ended_goes_on_and_processes_find_the_same_parts(
    tmp_path: Path, halved: tuple[float, Any]
) -> None:
    """A part is halved exactly where it does not show the goal, so neither order nor interruptions change the parts."""
    data, box, (error, once) = SMALL.SerializeToString(), SMALL_BOX, halved
    kept = tmp_path / "parts.jsonl"

    def split(**more: Any) -> Any:
        return sonnx.bound(data, box, unchecked=True, max_error=error, **more)

    first = split(split=1e-9, resume=kept)
    assert (first.split.boxes, first.split.finished) == (1, False)
    resumed = split(split=600, resume=kept)
    both = split(split=600, jobs=2)
    again = split(split=1e-9, resume=kept)
    for found in (resumed, both, again):
        assert found.split == once.split
        assert (found.outputs[0].error == once.outputs[0].error).all()
        assert (found.outputs[0].low == once.outputs[0].low).all()
    assert once.split.boxes > 4
    with pytest.raises(BadInput, match="was written for another set of hypotheses"):
        sonnx.bound(data, box, "executor", unchecked=True, max_error=error, split=1, resume=kept)
    kept.write_bytes(kept.read_bytes()[:99])
    with pytest.raises(BadInput, match="is not a --resume journal"):
        split(split=1, resume=kept)


KILLED = """
import sys
from pathlib import Path
import numpy
import sonnx
box = {name: tuple(ends) for name, ends in numpy.load("box.npz").items()}
sonnx.bound(
    Path("model.onnx"), box, unchecked=True, max_error=float(sys.argv[1]), split=600, resume=Path(sys.argv[2]),
    jobs=int(sys.argv[3]),
)
"""


@pytest.mark.parametrize("jobs", ["1", "2"] if DEEP else ["2"])
def test_a_bisection_that_is_killed_goes_on(jobs: str, tmp_path: Path, halved: tuple[float, Any]) -> None:
    error, once = halved
    kept, lines = tmp_path / "parts.jsonl", 0
    (tmp_path / "model.onnx").write_bytes(SMALL.SerializeToString())
    np.savez(tmp_path / "box.npz", **{name: np.stack(ends) for name, ends in SMALL_BOX.items()})
    for _ in range(examples(2, 3)):
        words = [sys.executable, "-c", KILLED, str(error), str(kept), jobs]
        with subprocess.Popen(words, cwd=tmp_path) as process:
            while process.poll() is None and not (kept.exists() and kept.read_bytes().count(b"\n") > 2 + lines):
                time.sleep(0.01)
            process.kill()
        lines, before = kept.read_bytes().count(b"\n"), lines
        assert lines > before
    found = sonnx.bound(SMALL.SerializeToString(), SMALL_BOX, unchecked=True, max_error=error, split=600, resume=kept)
    assert found.split == once.split
    assert (found.outputs[0].error == once.outputs[0].error).all()
    first, *divisions = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(first + divisions[0] + b"".join(divisions[2:]))
    with pytest.raises(BadInput, match="is a damaged --resume journal"):
        sonnx.bound(SMALL.SerializeToString(), SMALL_BOX, unchecked=True, max_error=error, split=1, resume=kept)


def test_decisions_are_shown_where_they_hold_and_not_where_they_do_not() -> None:
    model = MODELS["dense"]()
    parsed, made = read(model.SerializeToString()), hypotheses_named("ieee-any")
    x = np.random.default_rng(5).normal(size=(1, 5)).astype(np.float32)
    ideal = evaluate(model, {"x": x})[model.graph.output[0].name].reshape(-1)
    best, other = int(np.argmax(ideal)), int(np.argmin(ideal))
    found = bound_model(
        parsed, make_box(parsed, {"x": x}), made, unchecked=True, differences=[(other, best)], argmax=True
    )
    assert [each.same for each in found.decisions] == [True, True]
    assert found.decisions[0].high < 0
    assert found.decisions[1].what == f"argmax = {best}"
    wide = make_box(parsed, {"x": (x - np.float32(3), x + np.float32(3))})
    assert not bound_model(parsed, wide, made, unchecked=True, argmax=True).holds


def test_equal_nodes_may_be_computed_differently() -> None:
    """The difference of two equal nodes is 0, and may be computed as something else."""
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"]),
        helper.make_node("Tanh", ["x"], ["b"]),
        helper.make_node("Sub", ["a", "b"], ["y"]),
    ]
    data = _model(nodes, [], (1, 3), "y", (1, 3)).SerializeToString()
    found = bound(data, {"x": np.array([[0.1, 1.0, 2.0]], np.float32)}, unchecked=True)
    assert (found["y"].error >= 2 * found["a"].error * 0.99).all()


def test_a_network_that_is_too_large_keeps_forward_errors_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data, box = MODELS["dense"]().SerializeToString(), {"x": np.full((1, 5), 0.3, np.float32)}
    better = bound(data, box, unchecked=True)
    monkeypatch.setattr("sonnx.bounds.domain.MAX_WORK", 100)
    coarse = bound(data, box, unchecked=True)
    output = better.outputs[0].name
    assert (better.coarse, coarse.coarse[-1]) == ((), output)
    assert (coarse[output].error > better[output].error).all()
    assert "coarse: " in coarse.to_text()
    assert coarse.exit_code() == 0


def test_shares_of_the_nodes_add_up() -> None:
    found = bound(MODELS["residual"]().SerializeToString(), {"x": np.ones((1, 2, 6, 6), np.float32)}, unchecked=True)
    assert sum(share for _, share in found.shares) == pytest.approx(1.0)
    assert {"Conv", "Gemm"} <= {node.split("(")[1].split(",")[0] for node, _ in found.shares}


@each_case("kind", [np.float16, np.float64])
@each_case("radius", [0.0, 0.01])
def test_other_element_types(kind: Any, radius: float) -> None:
    """The same network in float16 and double, by the executor and by numpy, rounded at each step."""
    model = dense(7, [4, 10, 10, 3], "Relu")
    for each in model.graph.initializer:
        each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each).astype(kind), each.name))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = element
    data, source = model.SerializeToString(), np.random.default_rng(3)
    centre = source.normal(size=(1, 4)).astype(kind)
    ends = (centre - kind(radius), centre + kind(radius)) if radius else centre
    any_order, once = (bound(data, {"x": ends}, name, unchecked=True) for name in ("ieee-any", "executor"))
    for _ in range(5):
        x = centre if not radius else source.uniform(ends[0], ends[1]).astype(kind)
        x = np.clip(x, *ends) if radius else x
        ideal, ours = evaluate(model, {"x": x}), sonnx.run(data, {"x": x}, unchecked=True)
        for name, exact in ideal.items():
            if name in ("x", *(each.name for each in model.graph.initializer)):
                continue
            slack = 1e-17 * abs(exact)
            assert (any_order[name].low - slack <= exact).all()
            assert (exact <= any_order[name].high + slack).all()
        for name, computed in ours.items():
            assert _within(once[name], computed)
        value = x
        for layer in range(3):
            w, b = (numpy_helper.to_array(each) for each in model.graph.initializer[2 * layer : 2 * layer + 2])
            total = np.zeros((1, w.shape[1]), kind)
            for k in source.permutation(w.shape[0]):
                total = (total + value[:, k : k + 1] * w[k]).astype(kind)
            value = (total + b).astype(kind)
            assert _within(any_order[f"s{layer}"], value)
            value = np.maximum(value, kind(0))
