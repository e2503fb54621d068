"""Each transfer function against long double, onnxruntime, the executor, and float32 sums in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.api import bound
from sonnx.operators.registry import all_operators
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


def run(session: Any, given: dict[str, Any]) -> Any:
    return session.run(["y"], given)[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operator}-{case.inputs}")
def test_points_and_boxes_hold(case: Case) -> None:
    model, random_source = model_of(case), np.random.default_rng(3)
    data = model.SerializeToString()
    session = ort.InferenceSession(data)
    shapes = {f"x{index}": shape for index, shape in enumerate(case.inputs)}
    for width in (0.0, 0.0, 0.01, 0.5):
        low = {name: random_source.uniform(case.low, case.high, shape) for name, shape in shapes.items()}
        low = {name: np.asarray(each, np.float32) for name, each in low.items()}
        high = {name: np.asarray(np.minimum(each + width, case.high), np.float32) for name, each in low.items()}
        high = {name: np.maximum(each, low[name]) for name, each in high.items()}
        box: dict[str, Any] = {name: (low[name], high[name]) for name in low}
        found, executor = (bound(data, box, name, unchecked=True)["y"] for name in ("onnxruntime-cpu", "executor"))
        assert not found.unbounded
        assert found.error.shape == found.low.shape
        for _ in range(8):
            given = {name: _inside(random_source, low[name], high[name]) for name in low}
            ideal = evaluate(model, given)["y"]
            assert ideal.shape == found.low.shape
            assert inside(found, ideal)
            assert inside(executor, ideal)
            assert inside(found, run(session, given), found.error)
            assert inside(executor, sonnx.run(data, given, unchecked=True)["y"], executor.error)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operator}-{case.inputs}")
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
    model.graph.initializer.append(numpy_helper.from_array(large, "large"))
    data = model.SerializeToString()
    session = ort.InferenceSession(data)
    for width in (0.0, 0.02):
        margin = 0.02 * (case.high - case.low)
        x = {f"x{index}": source.uniform(case.low + margin, case.high - margin, shape).astype(np.float32)
             for index, shape in enumerate(case.inputs)}  # fmt: skip
        box: dict[str, Any] = {name: (each, each + np.float32(width)) for name, each in x.items()}
        found = bound(data, box, "onnxruntime-cpu", unchecked=True)["y"]
        if found.unbounded:
            assert case.low <= 1e-3 or case.high > 1e3, found.unbounded
            continue
        for _ in range(6):
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
               "Range", "Split"}  # tested by name below  # fmt: skip
    assert {name for name, each in all_operators().items() if each.bound is not None} - tested == missing


@pytest.mark.parametrize("seed", range(6))
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


@pytest.mark.parametrize(("operator", "text"), [
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


@pytest.mark.parametrize(("operator", "version"), [("Less", 13), ("Greater", 13), ("Equal", 13)])
def test_comparisons_are_decided_or_open(operator: str, version: int) -> None:
    data = model_of(Case(operator, [(3,), (3,)], version=version)).SerializeToString()
    a = np.array([0.0, 0.0, 0.0], np.float32), np.array([1.0, 1.0, 0.0], np.float32)
    b = np.array([2.0, 0.5, 0.0], np.float32), np.array([3.0, 2.0, 0.0], np.float32)
    found = bound(data, {"x0": a, "x1": b}, unchecked=True)["y"]
    sure = {"Less": [1, 0, 0], "Greater": [0, 0, 0], "Equal": [0, 0, 1]}[operator]
    possible = {"Less": [1, 1, 0], "Greater": [0, 1, 0], "Equal": [0, 1, 1]}[operator]
    assert (found.low.tolist(), found.high.tolist()) == (sure, possible)


def graph_model(nodes: list[Any], shapes: dict[str, tuple[int, ...]], outputs: list[str], constants: dict[str, Any],
                element: int = TensorProto.FLOAT) -> Any:  # fmt: skip
    """A model of nodes, with outputs of any type."""
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


DIVISORS = (3, 25)
"""Numbers whose inverse is rounded up in float, and down."""

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


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("divisor", DIVISORS)
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


@pytest.mark.parametrize("name", FLUSHED)
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
