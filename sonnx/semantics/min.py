"""Min: Y[i] = the least of the elements at i, after broadcasting.

ONNX Min-1 to Min-13.  The order is that of `order.py`, so that -0 is below +0; NaN, which the text leaves out, is the
result wherever an element is one, the first of several bit for bit, as for Max.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast, numbers_alike
from sonnx.semantics.formats import Array, format_of, patterns, place

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
