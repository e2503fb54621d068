"""LRN: Y[b, c, ..] = X[b, c, ..] / (bias + alpha / size * the sum of X[b, i, ..]^2)^beta.

ONNX LRN-1 and LRN-13; i runs from max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)).  The exact
value is rounded once; special values are those of IEEE 754 in the order of the formula.  Where the divisor may be
negative or 0 the text gives no value: alpha and beta are at least 0 here, and bias is above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Any

import numpy as np

from sonnx.semantics import reals
from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import floats_alike
from sonnx.semantics.formats import Array
from sonnx.stops import NotExecutable

OPERATOR = "LRN"
INPUTS = 1
ATTRIBUTES = {"alpha": "float", "beta": "float", "bias": "float", "size": "int"}
outputs = floats_alike

ABSENT = {name: float(np.float32(value)) for name, value in (("alpha", 0.0001), ("beta", 0.75), ("bias", 1.0))}
"""What the absence of an attribute means: the float nearest to it."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    (X,) = inputs
    made = parameters(application, X)
    elements = (element(X, index, *made) for index in np.ndindex(X.shape))
    return (reals.array(elements, X.dtype, X.shape),)


def parameters(application: Application, X: Array) -> tuple[float, float, float, int]:
    """Alpha, beta, bias and size.

    Raises:
        NotExecutable: they give no value, or X has no channels.
    """
    size = application.attribute("size", 0)
    alpha, beta, bias = (application.attribute(name, absent) for name, absent in ABSENT.items())
    if X.ndim < 2 or size < 1:
        raise NotExecutable(f"size is {size} for a tensor of rank {X.ndim}; it is at least 1, for a rank from 2 on")
    if not (0 <= alpha < inf and 0 <= beta < inf and 0 < bias < inf):
        raise NotExecutable(f"alpha is {alpha}, beta {beta} and bias {bias}: the divisor may be negative or 0")
    return alpha, beta, bias, size


def channels(c: int, count: int, size: int) -> range:
    """The channels whose squares are added up for channel c."""
    return range(max(0, c - (size - 1) // 2), min(count - 1, c + size // 2) + 1)


def element(X: Array, index: tuple[int, ...], alpha: float, beta: float, bias: float, size: int) -> Any:
    """The element with this index, as a number of `reals`."""
    [x] = reals.numbers(X[index].reshape(1))
    around = reals.numbers(np.array([X[(index[0], i, *index[2:])] for i in channels(index[1], X.shape[1], size)]))
    once = reals.nearest(X.dtype)
    if reals.is_zero(x) and all(each == each and not reals.is_infinite(each) for each in around):
        return x

    def magnitude(down: Any, up: Any) -> Any:
        """Of x over the power, rounded down; `up` rounds the divisor up."""
        squares = reduce(up.add, [up.mul(each, each) for each in around])
        divisor = up.add(bias, up.div(up.mul(alpha, squares), size))
        return down.div(abs(x), up.pow(divisor, reals.number(beta)))

    made = reals.certain(once, lambda down, up: (magnitude(down, up), magnitude(up, down)))
    return -made if reals.is_negative(x) else made
