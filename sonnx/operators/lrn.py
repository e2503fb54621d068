"""LRN: Y[b, c, ..] = X[b, c, ..] / (bias + alpha / size * the sum of X[b, i, ..]^2)^beta.

ONNX LRN-1 and LRN-13; i runs from max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)).  The exact
value is rounded once; special values are those of IEEE 754 in the order of the formula.  Where the divisor may be
negative or 0 the text gives no value: alpha and beta are at least 0 here, and bias is above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, required
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.certified_rounding import UNIT, Bound, certify_block
from sonnx.numerics.correctly_rounded import (
    from_mpfr,
    is_infinite,
    is_negative,
    is_zero,
    round_enclosed,
    rounding_context,
    to_mpfr,
    to_mpfr_list,
)
from sonnx.numerics.enclosures import powers
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_as_input

ATTRIBUTES = {"alpha": "float", "beta": "float", "bias": "float", "size": "int"}

FAST_BETA = 0.75


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    (X,) = inputs
    parameters_of_node = parameters(application, X)
    elements = (element(X, index, *parameters_of_node) for index in np.ndindex(X.shape))
    return (from_mpfr(elements, X.dtype, X.shape),)


def parameters(application: Application, X: Array) -> tuple[float, float, float, int]:
    """Alpha, beta, bias and size.

    Raises:
        NotExecutable: they give no value, or X has no channels.
    """
    size = application.parameter("size") or 0
    alpha, beta, bias = (application.parameter(name) for name in ("alpha", "beta", "bias"))
    if X.ndim < 2 or size < 1:
        raise NotExecutable(f"size is {size} for a tensor of rank {X.ndim}; it is at least 1, for a rank from 2 on")
    if not (0 <= alpha < inf and 0 <= beta < inf and 0 < bias < inf):
        raise NotExecutable(f"alpha is {alpha}, beta {beta} and bias {bias}: the divisor may be negative or 0")
    return alpha, beta, bias, size


def channels(c: int, count: int, size: int) -> range:
    """The channels whose squares are added up for channel c."""
    return range(max(0, c - (size - 1) // 2), min(count - 1, c + size // 2) + 1)


def element(X: Array, index: tuple[int, ...], alpha: float, beta: float, bias: float, size: int) -> Any:
    """The element with this index, as an MPFR number."""
    [x] = to_mpfr_list(X[index].reshape(1))
    around = to_mpfr_list(np.array([X[(index[0], i, *index[2:])] for i in channels(index[1], X.shape[1], size)]))
    once = rounding_context(X.dtype)
    if is_zero(x) and all(each == each and not is_infinite(each) for each in around):
        return x

    def magnitude(down: Any, up: Any) -> Any:
        """A lower bound of the magnitude of x over the power, if `down` rounds down and `up` up; else an upper one."""
        squares = reduce(up.add, [up.mul(each, each) for each in around])
        divisor = up.add(bias, up.div(up.mul(alpha, squares), size))
        return down.div(abs(x), up.pow(divisor, to_mpfr(beta)))

    quotient = round_enclosed(once, lambda down, up: (magnitude(down, up), magnitude(up, down)))
    return -quotient if is_negative(x) else quotient


def fast_path(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Where beta is 0.75: d^0.75 is sqrt(d) sqrt(sqrt(d)), and square roots are rounded once by IEEE 754.

    In float64 squares are exact, the sum of n of them in any order is off by a factor of at most (1 + u)^(n-1) with
    u = 2^-53, and all addends are positive.  The divisor d is off by a factor within (1 + u)^(n+3) then, its power, the
    product and the quotient by one within (1 + u)^(n+8).  Nothing overflows or underflows there, so an infinity, a NaN
    and a zero are those of the formula.  Another beta, float64, and what stays open go to the definition.
    """
    (X,) = inputs
    parameters_of_node = parameters(application, X)
    if parameters_of_node[1] != FAST_BETA or X.dtype == np.float64 or not X.size:
        return define(application, inputs)
    if X.ndim == 2:  # one element for each channel
        return (fast_path(application, [X[:, :, None]])[0][:, :, 0],)
    Y, exact, count = np.empty(X.shape, X.dtype), 0, X.shape[1]
    shape = (len(X), count, prod(X.shape[2:]))
    elements, target, step = (
        X.reshape(shape),
        Y.reshape(shape),
        max(1, application.block(BLOCK_ELEMENTS) // max(1, count)),
    )
    for b in range(len(X)):
        for start in range(0, shape[2], step):
            some = slice(start, start + step)
            values, open_ = _block(elements[b, :, some], *parameters_of_node)
            target[b, :, some] = values
            for c, place in np.argwhere(open_).tolist():
                index = tuple(int(i) for i in np.unravel_index(start + place, X.shape[2:]))
                Y[(b, c, *index)] = from_mpfr([element(X, (b, c, *index), *parameters_of_node)], X.dtype, ())[()]
                exact += 1
    application.count(Y.size, exact)
    return (Y,)


def _block(X: Array, alpha: float, _: float, bias: float, size: int) -> tuple[Array, Array]:
    """Y of a block of places, all of their channels, and where it is open."""
    x, count = X.astype(np.float64), len(X)
    squares, divisor = x * x, np.zeros(x.shape)
    around = channels(count - 1, 2 * count - 1, size)  # of a channel with as many on both sides
    for shift in range(around.start - (count - 1), around.stop - (count - 1)):
        divisor[max(0, -shift) : count - max(0, shift)] += squares[max(0, shift) : count + min(0, shift)]
    divisor *= alpha / size
    divisor += bias
    root = np.sqrt(divisor)
    root *= np.sqrt(root)
    x /= root
    Y = np.empty(X.shape, X.dtype)
    undecided = certify_block(x.reshape(-1), Bound((size + 10) * UNIT), Y.reshape(-1))
    return Y, np.zeros(X.shape, np.bool_) if undecided is None else undecided.reshape(X.shape)


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors."""
    [X] = required(inputs, 1)
    alpha, beta, bias, size = parameters(context.application, np.empty((0,) * len(X.shape)))
    count = X.shape[1]
    around = np.zeros((count, count))
    for c in range(count):
        around[c, channels(c, count, size)] = 1.0
    return [powers.response_normalization(context, X, alpha, beta, bias, around, size)]


OPERATOR = Operator(
    name="LRN",
    continuous=True,
    may_overflow_inside=True,
    versions=(1, 13),
    changes=(1,),
    absent={"alpha": float(np.float32(0.0001)), "beta": 0.75, "bias": 1.0},
    output_element="first",
    keeps_shape=True,
    define=define,
    fast_path=fast_path,
    signature=StatedSignature(inputs=(1, 1), attributes=ATTRIBUTES, output_specs=same_as_input),
    bound=bound,
)
