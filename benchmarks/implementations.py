"""Random networks, and implementations of them that round as badly as IEEE 754 arithmetic allows.

Every value has a first axis of runs.  A run has its own input, order of summation (sequential as given, in a random
order, by size, signs apart; pairwise, eight lanes), and choice of fused products, of biases as the first term of a sum,
and of folding a BatchNormalization into the weights before it.  Numbers are float64 that hold numbers of the element
type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

KINDS = {
    "float16": (np.dtype(np.float16), TensorProto.FLOAT16),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), TensorProto.BFLOAT16),
    "float": (np.dtype(np.float32), TensorProto.FLOAT), "double": (np.dtype(np.float64), TensorProto.DOUBLE),
}  # fmt: skip
ORDERS = ("given", "random", "growing", "falling", "signs", "pairwise", "lanes")
LONG = {"float16": 256, "bfloat16": 64, "float": 4096, "double": 4096}
"""Terms of a long sum: so many that a sum one after another is far outside the bound of a sum by pairs."""
EPSILON = float(np.float32(1e-5))
ACTIVATIONS = {
    "Relu": lambda x: np.maximum(x, 0), "LeakyRelu": lambda x: np.where(x < 0, x * float(np.float32(0.01)), x),
    "Abs": np.abs, "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Identity": lambda x: x,
    "Softplus": lambda x: np.logaddexp(x, 0),
}  # fmt: skip
PAIRS = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}
SMOOTH = ("Tanh", "Sigmoid", "Softplus")


@dataclass(frozen=True)
class Layer:
    """A sum of products with its optional BatchNormalization, activation and combination with the value before it."""

    weights: Any
    """Of shape (n, m)."""
    bias: Any
    taps: Any
    """Of a convolution, the elements (n, m) of the flat value before it that the products take; -1 is the padding."""
    normal: tuple[Any, Any, Any, Any] | None
    activation: str
    pair: str


def network(source: Any, name: str) -> tuple[Any, list[Layer]]:
    """A random model in an element type, and its layers."""
    kind, number = KINDS[name]
    width = int(source.choice([4, 8, 16]))
    layers, nodes, constants, value = [], [], {}, "x"
    shape: tuple[int, ...] = (1, 2, width) if source.integers(2) else (1, width)
    declared = shape
    for index in range(int(source.integers(2, 5))):
        layer, made, shape = _layer(source, kind, index, value, shape, constants)
        layers.append(layer)
        nodes += made
        value = made[-1].output[0]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", number, declared)],
        [helper.make_tensor_value_info(value, number, shape)],
        [numpy_helper.from_array(constant, key) for key, constant in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), layers


def long_sum(source: Any, name: str) -> tuple[Any, list[Layer], Any]:
    """A product whose terms are 3/2, many of either sign that a partial sum of that size loses, and perhaps -3/2 at the
    end; with its input.
    """
    kind, number = KINDS[name]
    n, unit = LONG[name], float(ml_dtypes.finfo(kind).eps) / 2
    x = np.full(n, unit * (1 - 4 * unit))
    weights = np.where(source.random(n) < source.choice([0.0, 0.1, 0.5, 0.9]), -1.0, 1.0).reshape(n, 1)
    x[0] = x[-1] = 1.5
    weights[0], weights[-1] = 1.0, source.choice([-1.0, unit])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w0"], ["s0"]), helper.make_node("Identity", ["s0"], ["a0"])], "g",
        [helper.make_tensor_value_info("x", number, (1, n))], [helper.make_tensor_value_info("a0", number, (1, 1))],
        [numpy_helper.from_array(weights.astype(kind), "w0")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    return model, [Layer(weights, np.zeros(1), None, None, "Identity", "")], x


def _layer(source: Any, kind: Any, index: int, value: str, shape: tuple[int, ...], constants: dict[str, Any]) -> Any:
    def drawn(name: str, size: tuple[int, ...], scale: float, *, positive: bool = False) -> Any:
        made = source.normal(size=size) * scale
        constants[f"{name}{index}"] = (np.abs(made) + 0.1 if positive else made).astype(kind)
        return constants[f"{name}{index}"].astype(np.float64)

    summed, taps = f"s{index}", None
    if len(shape) == 3:
        channels, length = shape[1], shape[2]
        w, bias = drawn("w", (channels, channels, 3), 0.6), drawn("b", (channels,), 0.3)
        nodes = [helper.make_node("Conv", [value, f"w{index}", f"b{index}"], [summed], pads=[1, 1], kernel_shape=[3])]
        taps = np.empty((channels * 3, channels * length), int)
        weights = np.empty(taps.shape)
        for out in range(channels):
            for at in range(length):
                for k in range(channels * 3):
                    inside = at + k % 3 - 1
                    taps[k, out * length + at] = k // 3 * length + inside if 0 <= inside < length else -1
                    weights[k, out * length + at] = w[out, k // 3, k % 3]
        bias, after = np.repeat(bias, length), shape
    else:
        columns = shape[1] if source.integers(3) else int(source.choice([3, 8, 12]))
        weights, bias = drawn("w", (shape[1], columns), 1.2 / shape[1] ** 0.5), drawn("b", (columns,), 0.3)
        after = (1, columns)
        if source.integers(2):
            nodes = [helper.make_node("Gemm", [value, f"w{index}", f"b{index}"], [summed])]
        else:
            nodes = [helper.make_node("MatMul", [value, f"w{index}"], [f"p{index}"]),
                     helper.make_node("Add", [f"p{index}", f"b{index}"], [summed])]  # fmt: skip
    normal = None
    if source.integers(3) == 0:
        many = np.repeat(np.arange(after[1]), after[2] if len(after) == 3 else 1)
        parts = [drawn(part, (after[1],), 0.5, positive=part == "var") for part in ("scale", "shift", "mean", "var")]
        nodes.append(
            helper.make_node(
                "BatchNormalization",
                [summed, *(f"{part}{index}" for part in ("scale", "shift", "mean", "var"))],
                [f"n{index}"],
            )
        )
        normal, summed = tuple(part[many] for part in parts), f"n{index}"
    activation = str(source.choice(list(ACTIVATIONS)))
    nodes.append(helper.make_node(activation, [summed], [f"a{index}"]))
    pair = str(source.choice([*PAIRS, ""])) if after == shape else ""
    if pair:
        nodes.append(helper.make_node(pair, [f"a{index}", value], [f"r{index}"]))
    return Layer(weights, bias, taps, normal, activation, pair), nodes, after


class Implementation:
    """Runs of layers in an element type; `values` collects each tensor by name, of shape (runs, elements).

    Args:
        kind: the element type.
        source: of choices.
        flush: subnormal numbers become zero.
    """

    def __init__(self, kind: Any, source: Any, *, flush: bool) -> None:
        self.kind, self.source, self.flush = kind, source, flush
        self.normal = float(ml_dtypes.finfo(kind).smallest_normal)
        self.unit = float(ml_dtypes.finfo(kind).eps)

    def rounded(self, values: Any) -> Any:
        """Rounded to the element type."""
        made = values.astype(self.kind).astype(np.float64)
        return np.where(np.abs(made) < self.normal, 0.0, made) if self.flush else made

    def run(self, layers: list[Layer], x: Any, names: set[str]) -> dict[str, Any]:
        """The values of each tensor that the runs compute; those inside a fusion are left out."""
        values: dict[str, Any] = {}
        for index, layer in enumerate(layers):
            before, weights, bias = x, layer.weights, layer.bias
            folded = layer.normal is not None and self.kind != np.float64 and bool(self.source.integers(2))
            if folded:
                weights, bias = self._folded(layer)
            x = self._sum(x, weights, bias, layer.taps)
            if not folded:
                values[f"s{index}"] = x
            if layer.normal is not None:
                x = x if folded else self._normalized(x, layer.normal)
                values[f"n{index}"] = x
            x = self._activated(x, layer.activation)
            values[f"a{index}"] = x
            if layer.pair:
                x = values[f"r{index}"] = self.rounded(PAIRS[layer.pair](x, before))
        return {name: value for name, value in values.items() if name in names}

    def _sum(self, x: Any, weights: Any, bias: Any, taps: Any) -> Any:
        if taps is None:
            factors = np.repeat(x[:, :, None], weights.shape[1], 2)
        else:
            factors = np.where(taps >= 0, np.concatenate([x, x[:, :1]], 1)[:, taps], 0.0)
        terms = factors * weights
        fused = self.kind != np.float64 and bool(self.source.integers(2))
        terms = terms if fused else self.rounded(terms)
        first = bool(self.source.integers(2))
        if first:
            terms = np.concatenate([np.broadcast_to(bias, (len(x), 1, len(bias))), terms], 1)
        made = self._added(terms, str(self.source.choice(ORDERS)))
        return made if first else self.rounded(made + bias)

    def _added(self, terms: Any, order: str) -> Any:
        """The sum along the second axis."""
        if order in ("pairwise", "lanes"):
            parts = [self.rounded(terms[:, k]) for k in range(terms.shape[1])]
            while order == "lanes" and len(parts) > 8:
                parts = [
                    self.rounded(parts[k] + parts[k + 8]) if k + 8 < len(parts) else parts[k] for k in range(8)
                ] + parts[16:]
            while len(parts) > 1:
                parts = [self.rounded(sum(parts[k : k + 2])) for k in range(0, len(parts), 2)]
            return parts[0]
        keys = {
            "given": np.broadcast_to(np.arange(terms.shape[1])[:, None], terms.shape[1:])[None].repeat(len(terms), 0),
            "random": self.source.random(terms.shape), "growing": np.abs(terms), "falling": -np.abs(terms),
            "signs": np.sign(terms) * self.source.choice([-1, 1]),
        }[order]  # fmt: skip
        sorted_terms = np.take_along_axis(terms, np.argsort(keys, 1), 1)
        total = np.zeros(terms[:, 0].shape)
        for k in range(terms.shape[1]):
            total = self.rounded(total + sorted_terms[:, k])
        return total

    def _factor(self, normal: Any) -> Any:
        scale, _, _, variance = normal
        return self.rounded(scale / self.rounded(np.sqrt(self.rounded(variance + EPSILON))))

    def _folded(self, layer: Layer) -> tuple[Any, Any]:
        factor = self._factor(layer.normal)
        _, shift, mean, _ = layer.normal
        bias = self.rounded(self.rounded(self.rounded(layer.bias - mean) * factor) + shift)
        return self.rounded(layer.weights * factor), bias

    def _normalized(self, x: Any, normal: Any) -> Any:
        scale, shift, mean, variance = normal
        if self.source.integers(2):
            return self.rounded(self.rounded(self.rounded(x - mean) * self._factor(normal)) + shift)
        root = self.rounded(np.sqrt(self.rounded(variance + EPSILON)))
        return self.rounded(self.rounded(self.rounded(self.rounded(x - mean) / root) * scale) + shift)

    def _activated(self, x: Any, name: str) -> Any:
        made = ACTIVATIONS[name](x)
        if name in SMOOTH and self.kind != np.float64:  # half a unit of freedom beside the rounding
            made = made * (1 + 0.49 * self.unit * self.source.uniform(-1, 1, made.shape))
        return self.rounded(made)


def near_a_kink(layer: Layer, x: Any, source: Any) -> Any:
    """The input moved so that an argument of the first activation is about 0."""
    column = int(source.integers(layer.weights.shape[1]))
    row = np.zeros(x.size)
    if layer.taps is None:
        row[:] = layer.weights[:, column]
    else:
        np.add.at(
            row, layer.taps[layer.taps[:, column] >= 0, column], layer.weights[layer.taps[:, column] >= 0, column]
        )
    if layer.normal is None:
        goal = 0.0
    else:
        scale, shift, mean, variance = (each[column] for each in layer.normal)
        goal = mean - shift * np.sqrt(variance + EPSILON) / scale
    return x - row * ((row @ x + layer.bias[column] - goal) / max(float(row @ row), 1e-3))
