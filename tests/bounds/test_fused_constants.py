"""What an implementation may do with constants: scale after a sum or before, multiply them in advance, let them
underflow, and carry a sum on.

Each row has a model, an input, and what was computed by onnxruntime or by the steps in numpy that stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.numerics.enclosures.values import NotBounded
from tests.support.cases import each_case

ort = pytest.importorskip("onnxruntime")

Array = Any
Node = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Operator, inputs, attributes; None is the value that the node before made."""


def chain(nodes: Sequence[Node], x: Array, output: int | None = None) -> onnx.ModelProto:
    """A model of nodes one after another."""
    made, constants, value = [], [], "x"
    for number, (operator, others, attributes) in enumerate(nodes):
        names = []
        for place, each in enumerate(others):
            if each is None:
                names.append(value)
                continue
            names.append(f"c{number}_{place}")
            constants.append(numpy_helper.from_array(np.asarray(each), names[-1]))
        value = f"v{number}"
        made.append(helper.make_node(operator, names, [value], **attributes))
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info(value, output or kind, None)], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def by_onnxruntime(model: onnx.ModelProto, x: Array) -> list[Array]:
    """The output at each optimization level."""
    made, levels = [], ort.GraphOptimizationLevel
    for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED, levels.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 4
        made.append(ort.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0])
    return made


def bounded(model: onnx.ModelProto, x: Array, hypotheses: str) -> Any:
    """The bounds of the output, None where it has none."""
    try:
        found = sonnx.bound(model.SerializeToString(), {"x": x}, hypotheses, unchecked=True).outputs[0]
    except NotBounded:
        return None
    return None if found.unbounded else found


def holds(found: Any, computed: Array) -> bool:
    """Whether a computed value keeps a claim; where nothing is claimed it does."""
    if found is None:
        return True
    wide = np.asarray(computed).astype(np.float64)
    outside = np.maximum(found.low - wide, wide - found.high)
    return bool(np.isfinite(wide).all() and (outside <= found.error).all())


f, h, b = np.float32, np.float16, ml_dtypes.bfloat16


def conv(w: float, kind: Any = f) -> Node:
    return "Conv", (None, np.full((1, 1, 1, 1), w, kind)), {}


def scale(operator: str, k: float, kind: Any = f) -> Node:
    return operator, (None, kind(k)), {}


def normal(k: float, shift: float, mean: float, var: float, kind: Any = f) -> Node:
    return "BatchNormalization", (None, *[np.array([each], kind) for each in (k, shift, mean, var)]), {}


def image(value: float, kind: Any = f) -> Array:
    return np.full((1, 1, 1, 1), value, kind)


def row(value: float, n: int = 1, kind: Any = f) -> Array:
    return np.full((1, n), value, kind)


@dataclass(frozen=True)
class Case:
    """`steps` computes the output in numpy, as an implementation may that rounds each operation."""

    nodes: Sequence[Node]
    x: Array
    steps: Callable[[Array], Array] | None = None
    hypotheses: tuple[str, ...] = ("ieee-any", "onnxruntime-cpu")
    open: tuple[str, ...] = ()
    """Hypotheses under which nothing can be claimed, because a part of the computation overflows."""
    runs: bool = field(default=True)
    """Whether onnxruntime computes it within the hypotheses."""


BOTH = ("ieee-any", "onnxruntime-cpu")

CASES = {
    # a scale after the sum
    "gemm alpha": Case([("Gemm", (None, row(1e20)), {"alpha": 1e-30})], row(1e20), open=BOTH),
    "gemm alpha half": Case(
        [("Gemm", (None, np.full((64, 1), 40, h)), {"alpha": 0.125})], row(40, 64, h),
        lambda x: h(0.125) * np.add.accumulate((x * h(40))[0], dtype=h)[-1:], open=BOTH,
    ),
    "gemm alpha over an operand": Case(
        [("Gemm", (None, row(1e-30)), {"alpha": 1e30})], row(1e10), lambda x: (f(1e30) * x) * f(1e-30), open=BOTH
    ),
    "gemm beta": Case([("Gemm", (None, row(1.0), row(1e30)), {"beta": 1e-30})], row(1.0)),
    # constants multiplied in advance
    "conv mul": Case([conv(1e20), scale("Mul", 1e20)], image(1e-20), open=BOTH),
    "conv mul behind a copy": Case(
        [conv(1e20), ("Identity", (None,), {}), scale("Mul", 1e20)], image(1e-20), open=BOTH
    ),
    "conv mul behind a turn": Case(
        [conv(1e20), ("Transpose", (None,), {"perm": [0, 1, 3, 2]}), scale("Mul", 1e20)], image(1e-20), open=BOTH
    ),
    "conv normal": Case([conv(1e20), normal(1e20, 0, 0, 1)], image(1e-20), open=BOTH),
    "mul matmul": Case([scale("Mul", 1e-30), ("MatMul", (None, row(1e20)), {})], row(1e30), open=BOTH),
    "mul turned matmul": Case(
        [scale("Mul", 1e-30), ("Transpose", (None,), {"perm": [1, 0]}), ("MatMul", (None, row(1e20)), {})], row(1e30),
        open=BOTH,
    ),
    "conv mul matmul": Case(
        [conv(1.0), scale("Mul", 1e-30), ("MatMul", (None, np.full((1, 1), 1e20, f)), {})], image(1e30), open=BOTH
    ),
    "div matmul": Case([scale("Div", 1e30), ("MatMul", (None, row(1e20)), {})], row(1e30), open=BOTH),
    "conv mul to 0": Case([conv(1e-30), scale("Mul", 1e-30)], image(1e30)),
    "conv mul below normal": Case([conv(1e-30), scale("Mul", 1e-12)], image(1e20)),
    "conv normal below normal": Case([conv(1e-30), normal(1e-12, 0, 0, 1)], image(1e20)),
    "scale taken for 0": Case(
        [("Conv", (None, np.ones((1, 1, 1, 1), f), np.array([1e6], f)), {}), scale("Mul", 1e-39)], image(1),
        lambda x: x * 0, hypotheses=("onnxruntime-cpu",), runs=False,
    ),
    "mul matmul to 0": Case([scale("Mul", 1e30), ("MatMul", (None, row(1e-30)), {})], row(1e-30)),
    "div matmul by an inverse": Case(
        [scale("Div", 2e38), ("MatMul", (None, row(1.0)), {})], row(1e38), lambda x: x * (f(1) / f(2e38))
    ),
    "normal alone": Case([normal(1e-30, 0, 0, 1e20)], image(1e20)),
    "normal half": Case([normal(1e-4, 0, 0, 1e4, h)], image(1e4, h), lambda x: x * (h(1e-4) / h(100))),
    "conv normal half": Case(
        [("Conv", (None, np.full((1, 4, 1, 1), 1.3e-3, h)), {}), normal(1e-3, 0, 0, 1, h)],
        np.full((1, 4, 1, 1), 500, h),
        lambda x: np.add.accumulate((x * (h(1.3e-3) * h(1e-3))).reshape(-1), dtype=h)[-1:],
    ),
    "two scales half": Case([scale("Mul", 1e-3, h), scale("Mul", 1e-3, h)], row(1e4, 1, h),
                            lambda x: x * (h(1e-3) * h(1e-3))),
    "two scales beyond half": Case([scale("Mul", 300, h), scale("Mul", 300, h)], row(1e-2, 1, h),
                                   lambda x: x * (h(300) * h(300)), open=BOTH),
    "mul div half": Case([scale("Mul", 0.5, h), scale("Div", 5e4, h)], row(6e4, 1, h),
                         lambda x: (x * h(0.5)) * (h(1) / h(5e4))),
    "mean mul half": Case([("ReduceMean", (None,), {"axes": [1]}), scale("Mul", 1e-3, h)], row(4e3, 8, h),
                          lambda x: np.add.accumulate((x * (h(1e-3) * h(0.125)))[0], dtype=h)[-1:]),
    "alpha of 16 digits": Case([("LeakyRelu", (None,), {"alpha": 0.0001})], row(-1e4, 1, h), lambda x: x * h(1e-4)),
    "gemm alpha of 16 digits": Case([("Gemm", (None, row(1.0, 1, b)), {"alpha": 0.1001})], row(1.0, 1, b),
                                    lambda x: x * b(0.1001), runs=False),
    # a normalization by its own formula
    "normal formula half": Case([normal(1, 0, -40000, 40000, h)], image(40000, h),
                                lambda x: (x + h(40000)) / h(200), open=BOTH),
    "normal formula": Case([normal(1e-30, 0, -2e38, 1)], image(2e38), lambda x: (x + f(2e38)) * f(1e-30), open=BOTH),
    "normal epsilon half": Case(
        [("BatchNormalization", (None, *[np.array([each], h) for each in (1, 0, 0, 0)]), {"epsilon": 1e-8})],
        image(1, h), lambda x: x / np.sqrt(h(1e-8)), open=BOTH,
    ),
    # a sum that is carried on
    "lrn": Case([("LRN", (None,), {"size": 3, "alpha": 1.0})], np.array([1000] + [1] * 7, f).reshape(1, 8, 1, 1),
                hypotheses=("onnxruntime-cpu",)),
    "lrn 100": Case([("LRN", (None,), {"size": 3, "alpha": 1.0})], np.array([100] + [1] * 7, f).reshape(1, 8, 1, 1),
                    hypotheses=("onnxruntime-cpu",)),
    "lrn of 96 channels": Case(
        [("LRN", (None,), {"size": 5})], np.array([3e4] + [3] * 95, f).reshape(1, 96, 1, 1),
        hypotheses=("onnxruntime-cpu",),
    ),
}  # fmt: skip


@each_case("name", CASES)
def test_no_implementation_within_the_hypotheses_breaks_a_claim(name: str) -> None:
    case = CASES[name]
    model, computed = chain(case.nodes, case.x), []
    with np.errstate(all="ignore"):
        if case.steps is not None:
            computed.append(case.steps(case.x))
        if case.runs:
            computed += by_onnxruntime(model, case.x)
    for hypotheses in case.hypotheses:
        found = bounded(model, case.x, hypotheses)
        assert (found is None) == (hypotheses in case.open), hypotheses
        assert all(holds(found, each) for each in computed), hypotheses


@each_case("name", [name for name, case in CASES.items() if case.open])
def test_the_reference_executor_rounds_each_operator_once_and_has_a_bound(name: str) -> None:
    """Its sums and products have no parts that overflow; only a constant of one operator is rounded."""
    case = CASES[name]
    model = chain(case.nodes, case.x)
    found = bounded(model, case.x, "executor")
    computed = sonnx.run(model.SerializeToString(), {"x": case.x}, unchecked=True)
    assert found is not None
    assert holds(found, computed[model.graph.output[0].name])


@each_case("level", range(4))
def test_a_cast_of_a_constant_rounds_as_that_of_an_input(level: int) -> None:
    """From double to float16 onnxruntime rounds to float first; the ideal value is the number before the cast."""
    exact = 1 + 2.0**-11 + 2.0**-40
    nodes = [helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT16)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, (1,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, (1,))],
        [numpy_helper.from_array(np.array([exact]), "c")],
    )  # fmt: skip
    constant = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    varying = chain([("Cast", (None,), {"to": TensorProto.FLOAT16})], np.array([exact]), TensorProto.FLOAT16)
    for hypotheses in BOTH:
        first, second = (bounded(model, np.array([exact]), hypotheses) for model in (constant, varying))
        assert first.low == second.low == first.high == second.high == exact
        assert first.error == second.error > 2.0**-12
        assert holds(first, by_onnxruntime(constant, np.array([exact]))[level])


def test_a_cast_that_rounds_nothing_stays_a_constant() -> None:
    model = chain([("Cast", (np.array([0.5, 3.0]),), {"to": TensorProto.FLOAT16})], np.zeros(2, h))
    found = bounded(model, np.zeros(2, h), "ieee-any")
    assert (found.low.tolist(), found.high.tolist(), found.error.tolist()) == ([0.5, 3.0], [0.5, 3.0], [0.0, 0.0])


def test_a_constant_of_a_shape_stays_a_constant() -> None:
    value = numpy_helper.from_array(np.array([0.1], f))
    model = chain([("ConstantOfShape", (np.array([2], np.int64),), {"value": value})], np.zeros(2, f))
    found = bounded(model, np.zeros(2, f), "ieee-any")
    assert (found.low.tolist(), found.error.tolist()) == ([float(f(0.1))] * 2, [0.0, 0.0])


def resized(scale: float, mode: str, extent: int = 5) -> tuple[onnx.ModelProto, Array]:
    x = np.arange(1, extent + 1, dtype=f).reshape(1, extent) * 100
    nodes = [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode=mode)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1, scale], f), "s")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), x


@each_case("scale", [1.7, 1.6, 2.0, 0.5])
def test_a_resized_length_that_is_not_whole_has_no_bound_where_places_depend_on_it(scale: float) -> None:
    whole = abs(5 * scale - round(5 * scale)) < 1e-6
    for mode in ("align_corners", "pytorch_half_pixel", "half_pixel"):
        model, x = resized(scale, mode)
        for hypotheses in BOTH:
            found = bounded(model, x, hypotheses)
            assert (found is not None) == (whole or mode == "half_pixel"), mode
            assert all(holds(found, each) for each in by_onnxruntime(model, x)), mode
        assert bounded(model, x, "executor") is not None


def test_a_box_does_not_show_what_a_folded_constant_breaks(tmp_path: Path) -> None:
    """The scale of the convolution and the factor after it overflow where they are multiplied in advance."""
    nodes = [conv(1e20), scale("Mul", 1e20), ("QuantizeLinear", (None, f(1e18), np.uint8(128)), {})]
    x = np.array([0, 1e-20, -1e-20, 0.5e-20], f).reshape(4, 1, 1, 1)
    model = chain(nodes, x, TensorProto.UINT8)
    computed = by_onnxruntime(model, x)
    assert computed[0].reshape(-1).tolist() == [128, 228, 28, 178]
    assert computed[-1].reshape(-1).tolist() != computed[0].reshape(-1).tolist()
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    ends = {name: np.full(x.shape, each, f) for name, each in (("low", -1e-20), ("high", 1e-20))}
    found = sonnx.bound(path, {"x": (ends["low"], ends["high"])}, unchecked=True)
    assert "products of constants" in found.outputs[0].unbounded
