"""Inputs for every operator that adds up, and the same inputs in another order of summation.

An exact sum does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import onnx

from sonnx.numerics.formats import Array
from tests.support.exact import hard
from tests.support.models import run_node


@dataclass(frozen=True)
class Shuffled:
    """A call of an operator, and inputs in which the addends of each element have another order."""

    which: Sum
    attributes: Mapping[str, Any]
    inputs: Sequence[Array | None]
    shuffled: Sequence[Array | None]
    order: Array

    def value(self, inputs: Sequence[Array | None]) -> Array:
        """The output for one of both inputs."""
        kind, operator = self.which.kind, self.which.operator
        return run_node(operator, inputs, None, kind=kind, operator_set=22, **self.attributes)[1]()

    def back(self, Y: Array) -> Array:
        """The output for the shuffled inputs in the order of that for the inputs."""
        order = self.order.argsort() if self.which.back else slice(None, None, -1)
        return Y if self.which.back is None else Y[:, order]


@dataclass(frozen=True)
class Sum:
    """An operator that adds up; given the name of a format and a seed, a call of it."""

    operator: str
    inputs: Sequence[tuple[int, ...] | Array | None]
    """The shape of an input with hard elements, its elements, or None where it is left out."""
    axes: Sequence[int | None]
    """The axis of each input along which the addends stand; if there are none, the inputs are the addends."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    back: bool | None = None
    """Whether the second axis of the output has the order of the inputs (True), or is mirrored with them (False)."""
    format: str = ""
    """The format of the inputs where the operator has one only."""
    kind: int = onnx.TensorProto.FLOAT
    """ONNX's number of the output type."""

    def __call__(self, name: str, seed: int) -> Shuffled:
        """The call; Gemm is not scaled for double, which would take the exact path."""
        given = [
            hard(self.format or name, each, seed + 31 * place) if isinstance(each, tuple) else each
            for place, each in enumerate(self.inputs)
        ]
        along = [(x, axis) for x, axis in zip(given, self.axes, strict=False) if x is not None and axis is not None]
        count = along[0][0].shape[along[0][1]] if along else len(given)
        order = numpy.arange(count)[::-1] if self.back is False else numpy.random.default_rng(seed).permutation(count)
        pairs = zip(given, self.axes, strict=False)
        shuffled = [x if x is None or axis is None else x.take(order, axis) for x, axis in pairs]
        attributes = {} if (self.operator, name) == ("Gemm", "double") else self.attributes
        return Shuffled(self, attributes, given, shuffled or [given[place] for place in order], order)


def cell(operator: str, gates: int) -> Sum:
    """Shuffled along the inputs of a step."""
    shapes = [(2, 1, 12), (1, gates * 2, 12), (1, gates * 2, 2)]
    return Sum(operator, shapes, [2, 2, None], {"hidden_size": 2})


LISTED = [
    Sum("MatMul", [(5, 90), (90, 7)], [1, 0]),
    Sum("Gemm", [(5, 60), (60, 7), (7,)], [1, 0, None], {"alpha": 0.5, "beta": 2.0}),
    Sum("Conv", [(2, 9, 6, 5), (4, 9, 2, 3), (4,)], [1, 1, None]),
    Sum("ConvTranspose", [(1, 6, 3, 2), (6, 2, 2, 2)], [1, 0]),
    Sum("ConvInteger", [(1, 40, 4, 4), (3, 40, 2, 2)], [1, 1], format="uint8", kind=onnx.TensorProto.INT32),
    Sum("ReduceSum", [(4, 70), numpy.array([1])], [1, None]),
    Sum("ReduceMean", [(4, 70), numpy.array([1])], [1, None]),
    Sum("AveragePool", [(1, 2, 9, 1)], [2], {"kernel_shape": [9, 1]}),
    Sum("GlobalAveragePool", [(1, 2, 9, 1)], [2]),
    Sum("Softmax", [(3, 40)], [1], back=True),
    Sum("Sum", [(30,)] * 7, []),
    Sum("LRN", [(1, 6, 4)], [1], {"size": 13}, back=True),
    cell("LSTM", 4),
    cell("GRU", 3),
    Sum("ScatterND", [(3,), numpy.arange(20)[:, None] * 7 % 3, (20,)], [None, 0, 0], {"reduction": "add"}),
    Sum("Resize", [(1, 6), None, None, numpy.array([1, 9])], [1, None, None, None], {"mode": "linear"}, back=False),
]
SUMS = {each.operator: each for each in LISTED}
"""By operator."""
