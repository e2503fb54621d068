"""Random networks of Gemm and Relu, what implementations compute of them, and properties about them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.support.deep_networks import Built

Layers = list[tuple[Any, Any]]


def network(draw: np.random.Generator, sizes: tuple[int, ...]) -> tuple[bytes, Layers]:
    """A network of Gemm and Relu with random weights, and its layers."""
    layers: Layers = [
        ((draw.standard_normal((b, a)) / a**0.5).astype("f4"), (draw.standard_normal(b) / 10).astype("f4"))
        for a, b in pairwise(sizes)
    ]
    nodes, constants, read = [], [], "x"
    for index, (W, B) in enumerate(layers):
        last = index == len(layers) - 1
        constants += [numpy_helper.from_array(W, f"W{index}"), numpy_helper.from_array(B, f"B{index}")]
        made = "y" if last else f"h{index}"
        inputs = [read, f"W{index}", f"B{index}"]
        nodes.append(helper.make_node("Gemm", inputs, [made], transA=0, transB=1, alpha=1.0, beta=1.0))
        if not last:
            read = f"r{index}"
            nodes.append(helper.make_node("Relu", [made], [read]))
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in (("x", sizes[0]), ("y", sizes[-1]))
    )
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants))
    model.ir_version, model.opset_import[0].version = 9, 13
    return model.SerializeToString(), layers


def image_network(draw: np.random.Generator, size: int = 6) -> ModelProto:
    """A network of a small image: Conv, MaxPool, sums of two values, and often two outputs."""
    built, channels = Built(int(draw.integers(1 << 30))), int(draw.integers(1, 3))

    def pick(*values: Any) -> Any:
        return values[int(draw.integers(len(values)))]

    def convolved(x: str, before: int, after: int, **attributes: Any) -> str:
        group = pick(1, np.gcd(before, after))
        kernel = built.weights(after, before // group, *attributes.pop("kernel", (3, 3)))
        bias = [built.constant(draw.standard_normal(after) / 10)] if pick(True, False) else []
        return built.node("Conv", x, kernel, *bias, group=int(group), **attributes)

    width, x = int(pick(2, 4)), "x"
    if pick(True, False):
        x = built.node("Sub", x, built.constant(draw.uniform(0, 1, (channels, 1, 1))))
    x = convolved(x, channels, width, pads=[1, 1, 1, 1])
    if pick(True, False):
        x = built.node("MaxPool", x, kernel_shape=[2, pick(1, 2, 3)], strides=[2, pick(1, 2)], pads=[0, 0, 1, 0])
    x = built.node("Relu", x)
    if pick(True, False):
        inner = built.node("Relu", convolved(x, width, width, kernel=(1, 1)))
        right = convolved(inner, width, width, pads=[1, 1, 1, 1], auto_pad="NOTSET")
        x = built.node("Relu", built.node(pick("Add", "Sub"), *pick((right, x), (x, right))))
    x = built.node("Relu", convolved(x, width, 2, strides=[2, 1], pads=[1, 2, 0, 2], dilations=[1, pick(1, 2)]))
    flat = built.node("Flatten", x)
    session, shape = session_of(built.model((1, channels, size, size), flat))
    n = session.run(None, {"x": np.zeros(shape, "f4")})[0].size
    outputs = [built.node("MatMul", flat, built.weights(n, 2, fan=n))]
    if pick(True, False):
        outputs.append(built.node("Add", outputs[0], built.constant(draw.standard_normal(2))))
    model = built.model((1, channels, size, size), outputs[0])
    for name in outputs[1:]:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 2]))
    return model


def session_of(model: ModelProto) -> tuple[onnxruntime.InferenceSession, tuple[int, ...]]:
    """A session of onnxruntime, and the shape of the input."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session, tuple(session.get_inputs()[0].shape)


def computed(layers: Layers, points: Any) -> Iterator[Any]:
    """Outputs of implementations within IEEE 754: float32 forwards and backwards, and float64."""
    for order, kind in ((1, "f4"), (-1, "f4"), (1, "f8")):
        values = points.astype(kind)
        for index, (W, B) in enumerate(layers):
            total = np.zeros((len(values), len(B)), kind)
            for column in range(W.shape[1])[::order]:
                total = total + values[:, column : column + 1] * W[:, column].astype(kind)
            values = total + B.astype(kind)
            if index < len(layers) - 1:
                values = np.maximum(values, 0)
        yield values


def vnnlib(inputs: int, outputs: int, radius: float, formula: str) -> str:
    declared = [f"(declare-const X_{i} Real)" for i in range(inputs)] + [
        f"(declare-const Y_{i} Real)" for i in range(outputs)
    ]
    box = [f"(assert (<= X_{i} {radius})) (assert (>= X_{i} -{radius}))" for i in range(inputs)]
    return "\n".join([*declared, *box, f"(assert {formula})"])
