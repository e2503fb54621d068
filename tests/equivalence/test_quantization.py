"""Models that compute in floating point between DequantizeLinear and QuantizeLinear against integer operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.equivalence.result import Answer, Equivalence
from tests.equivalence.test_unequal_models import model, value

SCALES = {"x": 0.02, "w": np.array([0.01, 0.02], np.float32), "y": 0.05}
RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(-127, 128, (2, 3, 2, 2)).astype(np.int8)
BIAS = np.array([700, -300], np.int32)
BYTES = [value("x", [1, 3, 4, 4], TensorProto.UINT8)]


def constants(**changed: object) -> dict[str, object]:
    """Scales and zero points by the letter of the value, weights W and bias B."""
    scale = np.float32(SCALES["x"]) * SCALES["w"]
    made = {f"{name}s": np.asarray(each, np.float32) for name, each in SCALES.items()}
    zeros = {"xz": np.uint8(128), "yz": np.uint8(10), "wz": np.zeros(2, np.int8), "bz": np.zeros(2, np.int32)}
    return {**made, **zeros, "bs": scale, "W": WEIGHTS, "B": BIAS, **changed}


def in_floats(operator: str = "Conv", relu: bool = False, **changed: object) -> onnx.ModelProto:
    """The convolution of dequantized values, quantized."""
    dequantize = "DequantizeLinear"
    nodes = [
        helper.make_node(dequantize, ["x", "xs", "xz"], ["xf"]),
        helper.make_node(dequantize, ["W", "ws", "wz"], ["wf"], axis=0),
        helper.make_node(dequantize, ["B", "bs", "bz"], ["bf"], axis=0),
        helper.make_node(operator, ["xf", "wf", "bf"], ["sum"]),
        *([helper.make_node("Relu", ["sum"], ["result"])] if relu else []),
        helper.make_node("QuantizeLinear", ["result" if relu else "sum", "ys", "yz"], ["y"]),
    ]
    return model(nodes, constants(**changed), inputs=BYTES)


def in_integers(**changed: object) -> onnx.ModelProto:
    """The same by QLinearConv."""
    names = ["x", "xs", "xz", "W", "ws", "wz", "ys", "yz", "B"]
    return model([helper.make_node("QLinearConv", names, ["y"])], constants(**changed), inputs=BYTES)


def compared(first: onnx.ModelProto, second: onnx.ModelProto, **options: Any) -> Equivalence:
    return sonnx.equivalent(first, second, **{"runs": 0, **options}).result


def test_an_integer_convolution_differs_by_at_most_one_quantum() -> None:
    found = compared(in_floats(), in_integers())
    assert found.answer == Answer.ROUNDING
    assert (found.constants, found.decisions) == ((), ())
    [quantum] = found.quanta
    assert quantum.first == "y"
    assert 0 < quantum.reach < 1e-2
    assert any("QLinearConv" in each for each in found.assumptions)
    assert compared(in_integers(), in_floats()).answer == Answer.ROUNDING


def test_what_is_stated_holds_for_a_runtime() -> None:
    """Of onnxruntime's integers and the exact ones: they differ only near the middle between two whole numbers."""
    first, second = in_floats(), in_integers()
    [quantum] = compared(first, second).quanta
    second.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(second.SerializeToString(), providers=["CPUExecutionProvider"])
    kernels = WEIGHTS * SCALES["w"].astype(np.float64).reshape(2, 1, 1, 1)
    step = np.float64(np.float32(SCALES["x"]))
    for _ in range(4):
        x = RNG.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
        exact = sonnx.run(first, {"x": x}, unchecked=True).arrays["y"].astype(np.int64)
        found = session.run(None, {"x": x})[0].astype(np.int64)
        views = np.lib.stride_tricks.sliding_window_view((x[0] - 128.0) * step, (2, 2), axis=(1, 2))
        ideal = np.einsum("cijkl,ockl->oij", views, kernels) + (BIAS * step * SCALES["w"]).reshape(2, 1, 1)
        quotient = ideal / np.float64(np.float32(SCALES["y"]))
        near = np.abs(quotient - np.floor(quotient) - 0.5) <= quantum.reach
        apart = np.abs(exact - found)[0]
        assert apart.max() <= 1
        assert not apart[~near].any()


OTHERS = {
    "a weight": {"W": np.where(np.arange(24).reshape(2, 3, 2, 2) == 5, WEIGHTS ^ 1, WEIGHTS)},
    "a bias": {"B": BIAS + 1},
    "the scale of the input": {"xs": np.float32(0.021)},
    "the scale of the output": {"ys": np.float32(0.051)},
    "a scale of weights": {"ws": np.array([0.01, 0.021], np.float32)},
    "the zero point of the input": {"xz": np.uint8(127)},
    "the zero point of the output": {"yz": np.uint8(11)},
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_constants_are_another_function(what: str) -> None:
    changed: dict[str, Any] = OTHERS[what]
    assert compared(in_floats(), in_integers(**changed)).answer == Answer.UNDECIDED


def test_a_fine_quantum_may_jump_further() -> None:
    """Where roundings reach half a quantum the result says that the value may jump, not that it is one quantum."""
    found = compared(in_floats(ys=np.float32(1e-6)), in_integers(ys=np.float32(1e-6)))
    assert (found.answer, found.quanta) == (Answer.ROUNDING, ())
    assert found.decisions == ("QuantizeLinear: y",)


def test_a_relu_that_the_least_integer_contains() -> None:
    for zero, answer in ((0, Answer.ROUNDING), (10, Answer.UNDECIDED)):
        found = compared(in_floats(relu=True, yz=np.uint8(zero)), in_integers(yz=np.uint8(zero)))
        assert found.answer == answer


def between(
    nodes: Sequence[onnx.NodeProto], last: str, back: float = 0.02, shape: Sequence[int] = (1, 3, 4, 4)
) -> onnx.ModelProto:
    """Nodes from f, dequantized, to a value that is quantized with the scale `back`."""
    listed = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"], axis=0), *nodes,
        helper.make_node("QuantizeLinear", [last, "t", "z"], ["y"]),
    ]  # fmt: skip
    given = {"s": np.float32(0.02), "t": np.float32(back), "z": np.uint8(3), "turned": np.array([1, 48])}
    return model(listed, given, inputs=[value("x", shape, TensorProto.UINT8)])


def of_integers(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    return model(list(nodes), {"turned": np.array([1, 48])}, inputs=BYTES)


def test_integers_that_are_only_moved_come_back() -> None:
    identity = of_integers(helper.make_node("Identity", ["x"], ["y"]))
    assert compared(between([], "f"), identity).answer == Answer.IDENTICAL
    assert compared(between([], "f", 0.021), identity, runs=4).answer == Answer.DIFFERENT
    for operator, inputs, attributes in (
        ("Reshape", ["turned"], {}), ("Transpose", [], {"perm": [0, 2, 3, 1]}),
        ("MaxPool", [], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("MaxPool", [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ):  # fmt: skip
        first = between([helper.make_node(operator, ["f", *inputs], ["r"], **attributes)], "r")
        second = of_integers(helper.make_node(operator, ["x", *inputs], ["y"], **attributes))
        assert compared(first, second).answer == Answer.IDENTICAL, operator
    average = [helper.make_node("GlobalAveragePool", ["f"], ["r"])]
    assert compared(between(average, "r"), identity).answer != Answer.IDENTICAL


STATED = {
    "QLinearAdd": ("Add", 2), "QLinearMul": ("Mul", 2), "QLinearSigmoid": ("Sigmoid", 1),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", 1), "QLinearLeakyRelu": ("LeakyRelu", 1),
    "QLinearSoftmax": ("Softmax", 1), "QLinearAveragePool": ("AveragePool", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", STATED)
def test_integer_operators_of_onnxruntime(name: str) -> None:
    operator, operands = STATED[name]
    window = {"kernel_shape": [2, 2]} if operator == "AveragePool" else {}
    first = between([helper.make_node(operator, ["f"] * operands, ["r"], **window)], "r", 0.05)
    given = {"s": np.float32(0.02), "t": np.float32(0.05), "z": np.uint8(3)}
    last_axis = {"axis": -1, "opset": 13} if operator == "Softmax" else window
    node = helper.make_node(name, ["x", "s", "z"] * operands + ["t", "z"], ["y"], domain="com.microsoft", **last_axis)
    second = model([node], given, inputs=BYTES, **{"com.microsoft": 1})
    found = compared(first, second)
    assert found.answer == Answer.ROUNDING
    assert found.quanta or found.decisions


@pytest.mark.parametrize("name", ["QLinearMatMul", "QGemm"])
def test_products_of_quantized_matrices(name: str) -> None:
    rows = [value("x", [2, 4], TensorProto.UINT8)]
    given = {
        "xs": np.float32(0.02), "xz": np.uint8(7), "W": WEIGHTS[0, :2].reshape(4, 2), "ws": np.float32(0.01),
        "wz": np.int8(0), "ys": np.float32(0.05), "yz": np.uint8(9), "B": BIAS,
        "bs": np.float32(0.02) * np.float32(0.01), "bz": np.int32(0),
    }  # fmt: skip
    gemm = name == "QGemm"
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["f"]),
        helper.make_node("DequantizeLinear", ["W", "ws", "wz"], ["g"]),
        *([helper.make_node("DequantizeLinear", ["B", "bs", "bz"], ["b"])] if gemm else []),
        helper.make_node("Gemm" if gemm else "MatMul", ["f", "g", *(["b"] if gemm else [])], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"]),
    ]
    names = ["x", "xs", "xz", "W", "ws", "wz", *(["B"] if gemm else []), "ys", "yz"]
    node = helper.make_node(name, names, ["y"], domain="com.microsoft" if gemm else "")
    second = model([node], given, inputs=rows, **{"com.microsoft": 1})
    assert len(compared(model(nodes, given, inputs=rows), second).quanta) == 1


def joined(axis: int = 1, scale: str = "t") -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """QLinearConcat of two inputs with scales of their own, and Concat of the numbers."""
    given = {
        "s": np.float32(0.02), "t": np.float32(0.05), "r": np.float32(0.04), "z": np.uint8(3), "o": np.uint8(128),
    }  # fmt: skip
    rows = [value("x", [2, 3], TensorProto.UINT8), value("w", [2, 3], TensorProto.UINT8)]
    own = helper.make_node(
        "QLinearConcat", ["r", "o", "x", "s", "z", "w", "t", "o"], ["y"], domain="com.microsoft", axis=1
    )
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", scale, "o"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=axis),
        helper.make_node("QuantizeLinear", ["c", "r", "o"], ["y"]),
    ]
    return model([own], given, inputs=rows, **{"com.microsoft": 1}), model(nodes, given, inputs=rows)


def test_joined_integers() -> None:
    own, meant = joined()
    assert compared(own, meant).answer == compared(meant, own).answer == Answer.ROUNDING
    for other in (joined(axis=0), joined(scale="s")):
        assert compared(own, other[1], runs=0).answer in (Answer.UNDECIDED, Answer.DIFFERENT)


def test_joined_integers_of_a_runtime() -> None:
    runtime = pytest.importorskip("onnxruntime")
    inputs = {
        name: np.random.default_rng(seed).integers(0, 256, (2, 3)).astype(np.uint8) for seed, name in enumerate("xw")
    }
    one, other = (
        runtime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(["y"], inputs)[0]
        for each in joined()
    )
    assert np.abs(one.astype(int) - other.astype(int)).max() <= 1
