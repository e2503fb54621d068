"""Networks with random weights whose bounds are hard: residual convolutions, transformers, LSTM, LeNet-5, MobileNet.

Weights are drawn as He proposes; the sizes are arguments, so that tests take small networks and benchmarks large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]


class Built:
    """A model in the making: nodes one after another, and constants by name."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def constant(self, array: Any, kind: type = np.float32) -> str:
        """The name of a constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array).astype(kind)
        return name

    def weights(self, *shape: int, fan: int = 0) -> str:
        """Normal numbers with the variance 2 / fan, the number of terms of a sum."""
        fan = fan or int(np.prod(shape[1:]))
        return self.constant(self.draw.standard_normal(shape) * np.sqrt(2 / fan))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The output of a node."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def normalized(self, x: str, channels: int) -> str:
        """A BatchNormalization."""
        scale, shift = self.draw.uniform(0.8, 1.2, channels), self.draw.standard_normal(channels) * 0.1
        mean, variance = self.draw.standard_normal(channels) * 0.1, self.draw.uniform(0.5, 1.5, channels)
        return self.node("BatchNormalization", x, *map(self.constant, (scale, shift, mean, variance)))

    def head(self, x: str, channels: int) -> str:
        """The mean of each channel, times a matrix: ten outputs."""
        pooled = self.node("GlobalAveragePool", x)
        flat = self.node("Reshape", pooled, self.constant([1, channels], np.int64))
        return self.node("MatMul", flat, self.weights(channels, 10, fan=channels))

    def model(self, shape: tuple[int, ...], output: str) -> ModelProto:
        """The model of an input x of a shape, and of an output."""
        stored = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        made = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", given, made, stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resnet(blocks: int, channels: int = 16, size: int = 32, seed: int = 0) -> ModelProto:
    """1 + 2 * blocks convolutions, two in each residual block."""
    made = Built(seed)

    def convolved(x: str, before: int) -> str:
        kernel = made.weights(channels, before, 3, 3)
        return made.normalized(made.node("Conv", x, kernel, pads=[1] * 4), channels)

    x = made.node("Relu", convolved("x", 3))
    for _ in range(blocks):
        inner = made.node("Relu", convolved(x, channels))
        x = made.node("Relu", made.node("Add", convolved(inner, channels), x))
    return made.model((1, 3, size, size), made.head(x, channels))


def transformer(blocks: int, steps: int = 16, width: int = 32, inner: int = 16, seed: int = 0) -> ModelProto:
    """Blocks of one head of attention and of two layers, each after a normalization."""
    made = Built(seed)

    def drawn(*shape: int) -> str:
        return made.constant(made.draw.standard_normal(shape) / np.sqrt(shape[0]))

    def normalized(x: str) -> str:
        deviation = made.node("Sub", x, made.node("ReduceMean", x, axes=[-1]))
        square = made.node("Pow", deviation, made.constant(2))
        variance = made.node("Add", made.node("ReduceMean", square, axes=[-1]), made.constant(1e-5))
        return made.node("Div", deviation, made.node("Sqrt", variance))

    x = "x"
    for _ in range(blocks):
        z = normalized(x)
        query, key, value = (made.node("MatMul", z, drawn(width, inner)) for _ in range(3))
        scores = made.node("MatMul", query, made.node("Transpose", key, perm=[1, 0]))
        shares = made.node("Softmax", made.node("Div", scores, made.constant(inner**0.5)), axis=-1)
        x = made.node("Add", x, made.node("MatMul", made.node("MatMul", shares, value), drawn(inner, width)))
        hidden = made.node("Relu", made.node("MatMul", normalized(x), drawn(width, 2 * width)))
        x = made.node("Add", x, made.node("MatMul", hidden, drawn(2 * width, width)))
    return made.model((steps, width), made.node("MatMul", x, drawn(width, 4)))


def lstm(steps: int = 20, inputs: int = 8, hidden: int = 32, seed: int = 0) -> ModelProto:
    """The last state of an LSTM, times a matrix."""
    made = Built(seed)
    weights = [made.constant(made.draw.uniform(-1, 1, (1, 4 * hidden, n)) / np.sqrt(hidden)) for n in (inputs, hidden)]
    biases = made.constant(np.zeros((1, 8 * hidden)))
    made.nodes.append(helper.make_node("LSTM", ["x", *weights, biases], ["", "h"], hidden_size=hidden))
    flat = made.node("Reshape", "h", made.constant([1, hidden], np.int64))
    return made.model((steps, 1, inputs), made.node("MatMul", flat, made.weights(hidden, 4, fan=hidden)))


def lenet(seed: int = 0) -> ModelProto:
    """LeNet-5 with Relu and MaxPool."""
    made, x = Built(seed), "x"
    for before, after in ((1, 6), (6, 16)):
        x = made.node("Relu", made.node("Conv", x, made.weights(after, before, 5, 5), made.constant(np.zeros(after))))
        x = made.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = made.node("Reshape", x, made.constant([1, 256], np.int64))
    for before, after in ((256, 120), (120, 84)):
        x = made.node("Relu", made.node("MatMul", x, made.weights(before, after, fan=before)))
    return made.model((1, 1, 28, 28), made.node("MatMul", x, made.weights(84, 10, fan=84)))


def mobile(depth: int = 6, channels: int = 16, size: int = 32, seed: int = 0) -> ModelProto:
    """Convolutions by channel and of one place in turn, each between 0 and 6."""
    made, x, before = Built(seed), "x", 3
    ends = made.constant(0), made.constant(6)
    for number in range(depth):
        kernel, step = made.weights(before, 1, 3, 3), 2 - number % 2
        x = made.node("Conv", x, kernel, group=before, pads=[1] * 4, strides=[step, step])
        x = made.node("Clip", made.normalized(x, before), *ends)
        after = min(channels * (1 + number // 2), 64)
        x = made.node("Conv", x, made.weights(after, before, 1, 1))
        x, before = made.node("Clip", made.normalized(x, after), *ends), after
    return made.model((1, 3, size, size), made.head(x, before))


def centre_of(model: ModelProto, seed: int = 0) -> Array:
    """An input: numbers between 0 and 1 of a network with images, else normal ones."""
    draw = np.random.default_rng(seed)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    return (draw.uniform(0, 1, shape) if len(shape) > 2 else draw.standard_normal(shape)).astype(np.float32)


SMALL: dict[str, Callable[[int], ModelProto]] = {
    "resnet": lambda seed: resnet(2, 4, 9, seed),
    "transformer": lambda seed: transformer(2, 4, 8, 4, seed),
    "lstm": lambda seed: lstm(5, 3, 4, seed),
    "mobile": lambda seed: mobile(4, 4, 9, seed),
}
"""Small ones of each kind, by a seed."""
