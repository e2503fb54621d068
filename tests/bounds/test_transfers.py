"""Each transfer function against long double, onnxruntime, the executor, and float32 sums in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx import bound
from sonnx.operators.registry import all_operators
from tests.support.cases import DEEP, each_case, examples
from tests.support.ideal import evaluate

ort = pytest.importorskip("onnxruntime")

SLACK = 2.0**-60
"""What the long double oracle itself may be off, relative to its value."""


@dataclass
class Case:
    operator: str
    inputs: list[tuple[int, ...]]
    constants: list[Any] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    low: float = -3.0
    high: float = 3.0
    order: str = "inputs first"
    version: int = 13
    result: int = TensorProto.FLOAT


def random(shape: tuple[int, ...], seed: int = 0, scale: float = 1.0) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


CASES = [
    Case("Conv", [(1, 3, 7, 6)], [random((4, 3, 3, 2)), random((4,))], {"pads": [1, 0, 1, 1], "strides": [2, 1]}),
    Case("Conv", [(2, 4, 9)], [random((6, 2, 3))], {"group": 2, "dilations": [2]}),
    Case("Gemm", [(3, 20)], [random((20, 5)), random((5,))]),
    Case("Gemm", [(20, 3)], [random((5, 20)), random((3, 1))], {"transA": 1, "transB": 1, "alpha": 0.3, "beta": -2.5}),
    Case("MatMul", [(2, 33)], [random((33, 4))]),
    Case("MatMul", [(2, 3, 8), (2, 8, 5)]),
    Case("MatMul", [(8,), (8, 5)]),
    Case("MatMul", [(2, 1, 4, 8), (3, 8, 5)]),
    Case("Add", [(3, 4), (4,)]),
    Case("Add", [(3, 4)], [random((3, 1))]),
    Case("Sub", [(3, 4), (3, 1)]),
    Case("Sub", [(3, 4)], [random((4,))]),
    Case("Mul", [(3, 4), (4,)]),
    Case("Mul", [(3, 4)], [random((3, 4), 5, 100.0)]),
    Case("Div", [(3, 4), (4,)], low=0.5, high=4.0),
    Case("Div", [(3, 4), (4,)], low=-4.0, high=-0.1),
    Case("Div", [(3, 4)], [random((4,), 7)]),
    Case("Sum", [(3, 4), (3, 4), (4,)]),
    Case("BatchNormalization", [(2, 3, 4, 4)], [random((3,)), random((3,), 1), random((3,), 2), abs(random((3,), 3))]),
    Case("BatchNormalization", [(2, 3, 5)],
         [random((3,)), random((3,), 1), random((3,), 2, 10.0), abs(random((3,), 3, 1e-3))], {"epsilon": 1e-3}),
    Case("Softmax", [(2, 6)], attributes={"axis": -1}),
    Case("Softmax", [(2, 3, 4)], attributes={"axis": 1}, low=-30.0, high=30.0),
    Case("Softmax", [(2, 6)], attributes={"axis": -1}, low=-1e12, high=1e12),
    Case("MaxPool", [(1, 2, 6, 6)], version=12,
         attributes={"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}),
    Case("GlobalMaxPool", [(1, 2, 6, 6)]),
    Case("AveragePool", [(1, 2, 6, 6)], attributes={"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Case("AveragePool", [(1, 2, 6)], attributes={"kernel_shape": [4], "pads": [1, 1], "count_include_pad": 1}),
    Case("GlobalAveragePool", [(2, 3, 7, 5)]),
    Case("ReduceMean", [(2, 3, 7)], attributes={"axes": [1, 2], "keepdims": 0}),
    Case("ReduceSum", [(2, 3, 7)], [ints(2)]),
    *[Case(name, [(5, 7)]) for name in ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Exp")],
    *[Case(name, [(5, 7)]) for name in ("Sin", "Softplus", "Abs", "Neg")],
    Case("LeakyRelu", [(5, 7)], attributes={"alpha": -0.25}),
    *[Case("LeakyRelu", [(5, 7)], attributes={"alpha": alpha}) for alpha in (2.5, -3.0)],
    Case("Sigmoid", [(5, 7)], low=-80.0, high=20.0),
    Case("Tanh", [(5, 7)], low=-1e-3, high=1e-3),
    Case("Log", [(5, 7)], low=0.5, high=2.0),
    Case("Log", [(5, 7)], low=1e-6, high=1e9),
    Case("Sqrt", [(5, 7)], low=0.0, high=2.0),
    Case("Max", [(3, 4), (4,)]),
    Case("Min", [(3, 4), (3, 4), (1,)]),
    Case("Max", [(3, 4)], [random((3, 4))]),
    Case("Clip", [(5, 7)], [np.float32(-0.5), np.float32(1.25)]),
    Case("Where", [(3, 4), (3, 4)], [random((3, 4)) > 0], order="constants first"),
    *[Case(name, [(5, 7)]) for name in ("Floor", "Ceil", "Sign", "HardSigmoid")],
    Case("HardSwish", [(9, 9)], low=-5.0, high=5.0, version=14),
    Case("HardSigmoid", [(9, 9)], attributes={"alpha": 0.3, "beta": 0.4}, low=-5.0, high=5.0),
    Case("Reciprocal", [(5, 7)], low=0.01, high=4.0),
    Case("Reciprocal", [(5, 7)], low=-1e4, high=-0.5),
    Case("Acos", [(5, 7)], low=-1.0, high=1.0),
    Case("Pow", [(5, 7)], [np.float32(2.0)]),
    Case("Pow", [(3, 4)], [np.array([0.0, 1.0, 2.0, 3.0], np.float32)]),
    Case("Pow", [(3, 4)], [np.array([-0.5, 0.5, -3.0, 2.75], np.float32)], low=0.1, high=3.0),
    Case("Pow", [(3, 4), (3, 4)], low=0.2, high=3.0),
    Case("Mod", [(3, 4), (4,)], attributes={"fmod": 1}, low=0.25, high=8.0),
    Case("Mod", [(3, 4)], [np.array([1.5, -0.75, 0.1, 7.0], np.float32)], {"fmod": 1}),
    Case("ReduceMax", [(2, 3, 4)], attributes={"axes": [0, 2], "keepdims": 0}),
    Case("ArgMax", [(3, 4)], attributes={"axis": 1}, result=TensorProto.INT64),
    Case("LRN", [(1, 6, 3, 2)], attributes={"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.25}),
    Case("LRN", [(1, 4, 3, 1)], attributes={"size": 5, "alpha": 0.001, "beta": 0.5, "bias": 2.0}),
    Case("ConvTranspose", [(1, 2, 3, 4)], [random((2, 3, 2, 3)), random((3,))],
         {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
    Case("ConvTranspose", [(2, 4, 5)], [random((4, 2, 3))], {"group": 2, "strides": [2], "output_padding": [1]}),
    Case("Resize", [(1, 2, 3, 4)], [floats(), floats(1, 1, 2, 2)], {"mode": "nearest"}),
    Case("Resize", [(1, 1, 5, 4)], [floats(), floats(1, 1, 1.7, 0.6)], {"mode": "linear"}),
    Case("ScatterND", [(5, 4)], [np.array([[3], [1]]), random((2, 4))]),
    Case("LSTM", [(4, 2, 3)], [random((1, 16, 3), 1, 0.5), random((1, 16, 4), 2, 0.5), random((1, 32), 3, 0.5)],
         {"hidden_size": 4}, low=-1.0, high=1.0),
    Case("GRU", [(4, 2, 3)], [random((1, 12, 3), 1, 0.5), random((1, 12, 4), 2, 0.5), random((1, 24), 3, 0.5)],
         {"hidden_size": 4}, low=-1.0, high=1.0),
    Case("GRU", [(3, 1, 3)], [random((1, 12, 3), 1, 0.5), random((1, 12, 4), 2, 0.5), random((1, 24), 3, 0.5)],
         {"hidden_size": 4, "linear_before_reset": 1}, low=-1.0, high=1.0),
    Case("Cast", [(5, 7)], attributes={"to": int(TensorProto.INT32)}, result=TensorProto.INT32, low=-100.0, high=100.0),
    Case("Cast", [(5, 7)], attributes={"to": int(TensorProto.FLOAT16)}, result=TensorProto.FLOAT16),
    Case("QuantizeLinear", [(5, 7)], [np.float32(0.05), np.uint8(120)], result=TensorProto.UINT8, low=-8.0, high=8.0),
    Case("Flatten", [(2, 3, 4)], attributes={"axis": 2}),
    Case("Reshape", [(2, 3, 4)], [ints(4, 6)]),
    Case("Transpose", [(2, 3, 4)], attributes={"perm": [2, 0, 1]}),
    Case("Concat", [(2, 3), (2, 2)], [random((2, 1))], {"axis": 1}),
    Case("Squeeze", [(2, 1, 4)], [ints(1)]),
    Case("Unsqueeze", [(2, 4)], [ints(0, 2)]),
    Case("Identity", [(2, 4)]),
    Case("Gather", [(5, 4)], [ints(0, 3, 3)]),
    Case("Slice", [(5, 6)], [ints(1, 0), ints(4, 5), ints(0, 1)]),
    Case("Expand", [(3, 1)], [ints(3, 4)]),
    Case("Pad", [(3, 2)], [ints(1, 0, 0, 2), np.float32(1.5)]),
]  # fmt: skip


def model_of(case: Case) -> Any:
    names = [f"x{index}" for index in range(len(case.inputs))]
    constants = [f"c{index}" for index in range(len(case.constants))]
    listed = [*constants, *names] if case.order == "constants first" else [*names, *constants]
    given, stored = zip(names, case.inputs, strict=True), zip(constants, case.constants, strict=True)
    node = helper.make_node(case.operator, listed, ["y"], name="node", **case.attributes)
    graph = helper.make_graph(
        [node], "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given],
        [helper.make_tensor_value_info("y", case.result, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in stored],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.version)])
    model.ir_version = 8
    return model


def inside(found: Any, value: Any, error: Any = 0.0) -> bool:
    """Whether ideal values lie in the range widened by an error; the oracle's own error is allowed for."""
    value = np.asarray(value, np.longdouble)
    slack = SLACK * np.abs(value) * 64 + np.longdouble(1e-4000)
    return bool(((value >= found.low - error - slack) & (value <= found.high + error + slack)).all())


WIDTHS = (0.0, 0.0, 0.01, 0.5)
"""Of the boxes that are bounded; in a run that is not deep one for each case."""


def place_of(case: Case) -> int:
    """The number of a case; its arrays cannot be compared."""
    return next(place for place, each in enumerate(CASES) if each is case)


def run(session: Any, given: dict[str, Any]) -> Any:
    return session.run(["y"], given)[0]


@each_case("case", CASES if DEEP else CASES[::2], ids=lambda case: f"{case.operator}-{case.inputs}")
def test_points_and_boxes_hold(case: Case) -> None:
    model, random_source = model_of(case), np.random.default_rng(3)
    data = model.SerializeToString()
    session = ort.InferenceSession(data)
    shapes = {f"x{index}": shape for index, shape in enumerate(case.inputs)}
    for width in WIDTHS if DEEP else [WIDTHS[3 * (place_of(case) // 2 % 2)]]:
        low = {name: random_source.uniform(case.low, case.high, shape) for name, shape in shapes.items()}
        low = {name: np.asarray(each, np.float32) for name, each in low.items()}
        high = {name: np.asarray(np.minimum(each + width, case.high), np.float32) for name, each in low.items()}
        high = {name: np.maximum(each, low[name]) for name, each in high.items()}
        box: dict[str, Any] = {name: (low[name], high[name]) for name in low}
        found, executor = (bound(data, box, name, unchecked=True)["y"] for name in ("onnxruntime-cpu", "executor"))
        assert not found.unbounded
        assert found.error.shape == found.low.shape
        for _ in range(examples(1, 8)):
            given = {name: _inside(random_source, low[name], high[name]) for name in low}
            ideal = evaluate(model, given)["y"]
            assert ideal.shape == found.low.shape
            assert inside(found, ideal)
            assert inside(executor, ideal)
            assert inside(found, run(session, given), found.error)
            assert inside(executor, sonnx.run(data, given, unchecked=True)["y"], executor.error)


@each_case("case", CASES if DEEP else CASES[1::2], ids=lambda case: f"{case.operator}-{case.inputs}")
def test_errors_of_operands_come_through(case: Case) -> None:
    """x + 1000 - 1000 is x in real arithmetic and up to 3e-5 off in float: far more than the operator's own error."""
    model, source = model_of(case), np.random.default_rng(11)
    node, large = model.graph.node[0], np.float32(1000.0)
    node.input[:] = [f"{name}_off" if name.startswith("x") else name for name in node.input]
    first = []
    for index in range(len(case.inputs)):
        first += [helper.make_node("Add", [f"x{index}", "large"], [f"x{index}_sum"]),
                  helper.make_node("Sub", [f"x{index}_sum", "large"], [f"x{index}_off"])]  # fmt: skip
    del model.graph.node[:]
    model.graph.node.extend([*first, node])
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(large), "large"))
    data = model.SerializeToString()
    session = ort.InferenceSession(data)
    for width in (0.0, 0.02) if DEEP else [0.02 * (place_of(case) // 2 % 2)]:
        margin = 0.02 * (case.high - case.low)
        x = {f"x{index}": source.uniform(case.low + margin, case.high - margin, shape).astype(np.float32)
             for index, shape in enumerate(case.inputs)}  # fmt: skip
        box: dict[str, Any] = {name: (each, each + np.float32(width)) for name, each in x.items()}
        found = bound(data, box, "onnxruntime-cpu", unchecked=True)["y"]
        if found.unbounded:
            assert case.low <= 1e-3 or case.high > 1e3, found.unbounded
            continue
        for _ in range(examples(1, 6)):
            given = {name: _inside(source, *ends) for name, ends in box.items()}
            ideal = evaluate(model, given)["y"]
            assert inside(found, ideal)
            assert inside(found, run(session, given), found.error)


def _inside(source: Any, low: Any, high: Any) -> Any:
    """A point of the box: a corner or a place between."""
    how = source.integers(3)
    if how == 0:
        return np.where(source.integers(2, size=low.shape) > 0, low, high).astype(np.float32)
    made = (low + source.uniform(size=low.shape) * (high.astype(np.float64) - low)).astype(np.float32)
    return np.clip(made, low, high)


def test_every_transfer_function_has_a_case() -> None:
    tested = {case.operator for case in CASES}
    missing = {"And", "ConvInteger", "DequantizeLinear", "Dropout", "Equal", "Erf", "Greater", "Less", "Not", "Or",
               "Range", "Split"}  # tested by name, here and in test_steps.py  # fmt: skip
    assert {name for name, each in all_operators().items() if each.bound is not None} - tested == missing


@each_case("seed", range(6))
def test_float32_sums_in_any_order_lie_within_the_bound(seed: int) -> None:
    source, n = np.random.default_rng(seed), int(np.random.default_rng(seed).choice([3, 17, 200]))
    a, b = source.normal(size=(1, n)).astype(np.float32), source.normal(size=(n, 1)).astype(np.float32)
    b *= np.float32(10) ** source.integers(-3, 4, size=(n, 1)).astype(np.float32)
    found = bound(model_of(Case("MatMul", [(1, n)], [b])).SerializeToString(), {"x0": a}, unchecked=True)["y"]
    exact = (a.astype(np.longdouble) @ b.astype(np.longdouble)).item()
    for trial in range(60):
        products = a.reshape(-1) * b.reshape(-1)
        order = [np.arange(n), np.argsort(products), np.argsort(-np.abs(products))][trial % 3]
        order = source.permutation(n) if trial > 10 else order
        terms = list(products[order])
        while len(terms) > 1:
            i, j = (0, 1) if trial % 2 else tuple(int(each) for each in source.choice(len(terms), 2, replace=False))
            total = np.float32(terms[i] + terms[j])
            terms = [each for place, each in enumerate(terms) if place not in (i, j)]
            terms.insert(0, total)
        assert abs(np.longdouble(terms[0]) - exact) <= found.error.item()


def test_a_fused_bias_is_within_the_bound() -> None:
    """onnxruntime adds a large bias before the products: the bound of products and sum apart would be too small."""
    n = 4096
    a, w = random((1, n), 1), random((n, 1), 2)
    bias = np.array([1e4], np.float32)
    nodes = [helper.make_node("MatMul", ["x0", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, (1, n))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1))],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")],
    )  # fmt: skip
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    fused = bound(data, {"x0": a}, unchecked=True)["y"]
    accumulator = np.float32(1e4)
    for term in a.reshape(-1) * w.reshape(-1):
        accumulator = np.float32(accumulator + term)
    exact = (a.astype(np.longdouble) @ w.astype(np.longdouble)).item() + 1e4
    assert abs(np.longdouble(accumulator) - exact) <= fused.error.item()
    once = bound(data, {"x0": a}, "executor", unchecked=True)["y"]
    assert once.error.item() < fused.error.item() / 1000


@each_case(("operator", "text"), [
    ("Log", "argument is not shown"), ("Sqrt", "argument is not shown"), ("Exp", "finite is not shown"),
])  # fmt: skip
def test_values_that_may_be_nan_or_infinite_have_no_bound(operator: str, text: str) -> None:
    data = model_of(Case(operator, [(2,)])).SerializeToString()
    box = {"x0": (np.array([-1.0, 1.0], np.float32), np.array([100.0, 100.0], np.float32))}
    found = bound(data, box, unchecked=True)
    assert text in found["y"].unbounded
    assert not found.holds


def test_a_divisor_that_may_be_zero_has_no_bound() -> None:
    data = model_of(Case("Div", [(2,), (2,)])).SerializeToString()
    ends = np.array([-1.0, 1.0], np.float32), np.array([1.0, 1.0], np.float32)
    found = bound(data, {"x0": ends, "x1": ends}, unchecked=True)
    assert "divisor is not shown" in found["y"].unbounded


def test_sums_that_may_overflow_on_the_way_have_no_bound() -> None:
    """3e38 + 3e38 - 3e38 is finite in one order and infinite in another."""
    w = np.ones((3, 1), np.float32)
    data = model_of(Case("MatMul", [(1, 3)], [w])).SerializeToString()
    found = bound(data, {"x0": np.array([[3e38, 3e38, -3e38]], np.float32)}, unchecked=True)
    assert "finite is not shown" in found["y"].unbounded
    assert not bound(data, {"x0": np.array([[1e38, 1e38, -1e38]], np.float32)}, unchecked=True)["y"].unbounded


def test_a_model_file_is_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(Case("Relu", [(2,)])).SerializeToString())
    found = bound(path, {"x0": np.array([-1.0, 2.0], np.float32)}, unchecked=True)
    assert found["y"].low.tolist() == [0.0, 2.0]
    assert found["y"].error.tolist() == [0.0, 0.0]


@each_case(("operator", "version"), [("Less", 13), ("Greater", 13), ("Equal", 13)])
def test_comparisons_are_decided_or_open(operator: str, version: int) -> None:
    data = model_of(Case(operator, [(3,), (3,)], version=version)).SerializeToString()
    a = np.array([0.0, 0.0, 0.0], np.float32), np.array([1.0, 1.0, 0.0], np.float32)
    b = np.array([2.0, 0.5, 0.0], np.float32), np.array([3.0, 2.0, 0.0], np.float32)
    found = bound(data, {"x0": a, "x1": b}, unchecked=True)["y"]
    sure = {"Less": [1, 0, 0], "Greater": [0, 0, 0], "Equal": [0, 0, 1]}[operator]
    possible = {"Less": [1, 1, 0], "Greater": [0, 1, 0], "Equal": [0, 1, 1]}[operator]
    assert (found.low.tolist(), found.high.tolist()) == (sure, possible)


def test_splits_erf_and_dropout() -> None:
    split = helper.make_node("Split", ["x0", "sizes"], ["y", "z"], axis=1)
    graph = helper.make_graph(
        [helper.make_node("Erf", ["x0"], ["e"]), helper.make_node("Dropout", ["e"], ["d"]), split], "g",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, (2, 5))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "dyz"],
        [numpy_helper.from_array(ints(2, 3), "sizes")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    x = random((2, 5))
    found = bound(model.SerializeToString(), {"x0": x}, "onnxruntime-cpu", unchecked=True)
    session = ort.InferenceSession(model.SerializeToString())
    for name, computed in zip("dyz", session.run(list("dyz"), {"x0": x}), strict=True):
        assert inside(found[name], computed, found[name].error)
    assert found["z"].low.tolist() == x[:, 2:].astype(float).tolist()


def test_every_operator_has_bounds() -> None:
    """But for those whose values are constants of the model."""
    without = {operator.name for operator in all_operators().values() if operator.bound is None}
    assert without == {"Constant", "ConstantOfShape", "Shape"}
