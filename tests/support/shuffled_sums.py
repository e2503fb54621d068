"""Inputs for every operator that adds up, and the same inputs in another order of summation.

An exact sum does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy
import onnx

import sonnx
from sonnx.numerics.formats import Array
from tests.support.exact import hard
from tests.support.models import run_node

VERSION = 22
WINDOW = {"kernel_shape": [3, 3], "strides": [3, 3]}


@dataclass(frozen=True)
class Shuffled:
    """An operator with its attributes, inputs, and inputs in which the addends of each element have another order.

    `back` undoes the order of the outputs; `omitted` optional inputs stand before the last one; `kind` is ONNX's number
    of the output type.
    """

    operator: str
    inputs: Sequence[Array]
    shuffled: Sequence[Array]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    back: Callable[[Array], Array] = lambda Y: Y
    omitted: int = 0
    kind: int = onnx.TensorProto.FLOAT

    def value(self, inputs: Sequence[Array]) -> Array:
        """The output for one of both inputs."""
        source, run = run_node(self.operator, inputs, None, kind=self.kind, operator_set=VERSION, **self.attributes)
        if not self.omitted:
            return run()
        model = onnx.load_from_string(source)
        node = model.graph.node[0]
        node.input[:] = [node.input[0], *[""] * self.omitted, node.input[1]]
        given = dict(zip(("i0", "i1"), inputs, strict=True))
        return sonnx.run(model.SerializeToString(), given, unchecked=True)["o0"]


Source: TypeAlias = Callable[[str, int], Shuffled]
"""Of the name of a format and a seed."""


def drawn(name: str, *shapes: tuple[int, ...], seed: int = 0) -> list[Array]:
    """Arrays of hard elements."""
    return [hard(name, shape, seed + 31 * k) for k, shape in enumerate(shapes)]


def order(count: int, seed: int) -> Array:
    """A permutation."""
    return numpy.random.default_rng(seed).permutation(count)


def matmul(name: str, seed: int) -> Shuffled:
    """Shuffled along the inner axis."""
    A, B = drawn(name, (5, 90), (90, 7), seed=seed)
    p = order(90, seed)
    return Shuffled("MatMul", [A, B], [A[:, p], B[p]])


def gemm(name: str, seed: int) -> Shuffled:
    """Shuffled along the inner axis; not scaled for double, which would take the exact path."""
    A, B, C = drawn(name, (5, 60), (60, 7), (7,), seed=seed)
    p = order(60, seed)
    scaled = {} if name == "double" else {"alpha": 0.5, "beta": 2.0}
    return Shuffled("Gemm", [A, B, C], [A[:, p], B[p], C], scaled)


def conv(name: str, seed: int) -> Shuffled:
    """Shuffled along the channels."""
    X, W, B = drawn(name, (2, 9, 6, 5), (4, 9, 2, 3), (4,), seed=seed)
    p = order(9, seed)
    return Shuffled("Conv", [X, W, B], [X[:, p], W[:, p], B])


def conv_transpose(name: str, seed: int) -> Shuffled:
    """Shuffled along the channels."""
    X, W = drawn(name, (1, 6, 3, 2), (6, 2, 2, 2), seed=seed)
    p = order(6, seed)
    return Shuffled("ConvTranspose", [X, W], [X[:, p], W[p]])


def conv_integer(name: str, seed: int) -> Shuffled:
    """Shuffled along the channels."""
    X, W = drawn("uint8", (1, 40, 4, 4), (3, 40, 2, 2), seed=seed)
    p = order(40, seed)
    return Shuffled("ConvInteger", [X, W], [X[:, p], W[:, p]], kind=onnx.TensorProto.INT32)


def reduced(operator: str) -> Source:
    """Shuffled along the reduced axis."""

    def inputs(name: str, seed: int) -> Shuffled:
        (X,) = drawn(name, (4, 70), seed=seed)
        axes = numpy.array([1])
        return Shuffled(operator, [X, axes], [X[:, order(70, seed)], axes])

    return inputs


def pooled(operator: str, **attributes: Any) -> Source:
    """Shuffled within the one window."""

    def inputs(name: str, seed: int) -> Shuffled:
        (X,) = drawn(name, (1, 2, 3, 3), seed=seed)
        shuffled = X.reshape(1, 2, 9)[:, :, order(9, seed)].reshape(X.shape)
        return Shuffled(operator, [X], [shuffled], attributes)

    return inputs


def softmax(name: str, seed: int) -> Shuffled:
    """Shuffled along the axis, and back."""
    (X,) = drawn(name, (3, 40), seed=seed)
    p = order(40, seed)
    return Shuffled("Softmax", [X], [X[:, p]], back=lambda Y: Y[:, numpy.argsort(p)])


def total(name: str, seed: int) -> Shuffled:
    """The inputs shuffled."""
    X = drawn(name, *[(30,)] * 7, seed=seed)
    return Shuffled("Sum", X, [X[k] for k in order(7, seed)])


def lrn(name: str, seed: int) -> Shuffled:
    """Every channel sees all of them."""
    (X,) = drawn(name, (1, 6, 4), seed=seed)
    p = order(6, seed)
    return Shuffled("LRN", [X], [X[:, p]], {"size": 13}, back=lambda Y: Y[:, numpy.argsort(p)])


def cell(operator: str, gates: int) -> Source:
    """Shuffled along the inputs of a step."""

    def inputs(name: str, seed: int) -> Shuffled:
        X, W, R = drawn(name, (2, 1, 12), (1, gates * 2, 12), (1, gates * 2, 2), seed=seed)
        p = order(12, seed)
        return Shuffled(operator, [X, W, R], [X[:, :, p], W[:, :, p], R], {"hidden_size": 2})

    return inputs


def scattered(name: str, seed: int) -> Shuffled:
    """The updates shuffled."""
    data, updates = drawn(name, (3,), (20,), seed=seed)
    at, p = numpy.random.default_rng(seed).integers(0, 3, (20, 1)), order(20, seed)
    return Shuffled("ScatterND", [data, at, updates], [data, at[p], updates[p]], {"reduction": "add"})


def resize(name: str, seed: int) -> Shuffled:
    """Mirrored: the weights of linear interpolation are those of the other side."""
    (X,) = drawn(name, (1, 6), seed=seed)
    sizes = numpy.array([1, 9])
    mirrored = [X[:, ::-1].copy(), sizes]
    return Shuffled("Resize", [X, sizes], mirrored, {"mode": "linear"}, back=lambda Y: Y[:, ::-1], omitted=2)


SUMS: dict[str, Source] = {
    "MatMul": matmul, "Gemm": gemm, "Conv": conv, "ConvTranspose": conv_transpose, "ConvInteger": conv_integer,
    "ReduceSum": reduced("ReduceSum"), "ReduceMean": reduced("ReduceMean"),
    "AveragePool": pooled("AveragePool", **WINDOW), "GlobalAveragePool": pooled("GlobalAveragePool"),
    "Softmax": softmax, "Sum": total, "LRN": lrn, "LSTM": cell("LSTM", 4), "GRU": cell("GRU", 3),
    "ScatterND": scattered, "Resize": resize,
}  # fmt: skip
"""By operator."""
