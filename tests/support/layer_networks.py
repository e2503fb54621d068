"""Random networks of Gemm and Relu, what implementations compute of them, and properties about them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

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
