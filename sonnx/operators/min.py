"""Min: Y[i] = the least of the elements at i, after broadcasting.

ONNX Min-1 to Min-13.  The order is that of `order.py`, so that -0 is below +0; NaN, which the text leaves out, is the
result wherever an element is one, the first of several bit for bit, as for Max.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, numbers_alike
from sonnx.numerics.elementwise_kernels import Kernel
from sonnx.numerics.formats import Array, format_of, patterns, place
from sonnx.operators.max import fast_maximum

OPERATOR = "Min"
INPUTS = (1, 2**31 - 1)
outputs = numbers_alike


def evaluate(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of X."""
    Z = broadcast(OPERATOR, *X)
    Y = np.empty(Z[0].shape, X[0].dtype)
    made, key = format_of(Y.dtype), place(Y.dtype)
    highest = None if made is None else made.infinity + 1

    def smaller(x: int, y: int) -> int:
        if highest in (key(x), key(y)):
            return x if key(x) == highest else y
        return y if key(y) < key(x) else x

    for i in np.ndindex(Y.shape):
        patterns(Y)[i] = reduce(smaller, (int(patterns(z)[i]) for z in Z))
    return (Y,)


# ------------------------------------------------------------------
# Min, fast: the negative of the maximum of the negatives; for integers numpy's minimum.
#
# The order of Max turned around is that of Min but for NaN, which both give; its sign is turned twice.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def minimum(inputs: Sequence[Any], out: Array) -> Array:
        made = format_of(out.dtype)
        if made is None:
            np.copyto(out, reduce(np.minimum, inputs))
            return out
        fast_maximum([_turned(each, made.sign, made.unsigned) for each in inputs], out)
        np.copyto(out, _turned(out, made.sign, made.unsigned))
        return out

    return minimum


def _turned(values: Array, sign: int, unsigned: np.dtype[Any]) -> Array:
    """The values with the other sign, bit for bit."""
    turned: Array = (np.ascontiguousarray(values).view(unsigned) ^ unsigned.type(sign)).view(values.dtype)
    return turned.reshape(values.shape)
