"""Min: Y[i] = the least of the elements at i, after broadcasting.

ONNX Min-1 to Min-13.  The order is that of `numerics/order.py`, so that -0 is below +0; NaN, which the text leaves out,
is the result wherever an element is one, the first of several bit for bit, as for Max.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, format_of, order_key, patterns
from sonnx.numerics.maximum import fast_maximum
from sonnx.operators.operator import Operator


def define(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of X."""
    Z = broadcast(application.operator, *X)
    Y = np.empty(Z[0].shape, X[0].dtype)
    number_format, key = format_of(Y.dtype), order_key(Y.dtype)
    highest = None if number_format is None else number_format.infinity + 1

    def smaller(x: int, y: int) -> int:
        if highest in (key(x), key(y)):
            return x if key(x) == highest else y
        return y if key(y) < key(x) else x

    for i in np.ndindex(Y.shape):
        patterns(Y)[i] = reduce(smaller, (int(patterns(z)[i]) for z in Z))
    return (Y,)


def fast_minimum(inputs: Sequence[Any], out: Array, block: BlockSize = usual_size) -> Array:
    """The negative of the maximum of the negatives; for integers numpy's minimum.

    The order of Max turned around is that of Min but for NaN, which both give; its sign is turned twice.
    """
    number_format = format_of(out.dtype)
    if number_format is None:
        np.copyto(out, reduce(np.minimum, inputs))
        return out
    fast_maximum([_negated(operand, number_format.sign, number_format.unsigned) for operand in inputs], out, block)
    np.copyto(out, _negated(out, number_format.sign, number_format.unsigned))
    return out


def _negated(values: Array, sign: int, unsigned: np.dtype[Any]) -> Array:
    """The values with the other sign, bit for bit."""
    negated: Array = (np.ascontiguousarray(values).view(unsigned) ^ unsigned.type(sign)).view(values.dtype)
    return negated.reshape(values.shape)


def kernel(application: Application) -> Kernel:
    """See `fast_minimum`."""
    return lambda inputs, out: fast_minimum(inputs, out, application.block)


OPERATOR = Operator(
    name="Min",
    changes=(1, 8),
    elementwise=True,
    commutative_numbers=True,
    associative=True,
    continuous=True,
    selects=True,
    define=define,
    kernel=kernel,
    bound=selection.extremum(-1.0),
)
