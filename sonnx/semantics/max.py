"""Max: Y[i] = max over m in [0, L] of Zm[i], where (Z0, …, ZL) = Broadcast(X0, …, XL).

SONNX Max, second edition, lines 34 to 57; first edition, lines 26 to 49; ONNX Max-1 to Max-13.  One meaning serves
every version: the versions differ in the types and shapes they admit.  The order of floating-point values is that of
`order.py`: NaN > +Inf > positive > +0 > -0 > negative > -Inf.  Of several NaNs the first input's is the result, bit
for bit: no text names one, and a result that depends on nothing but the inputs can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, larger, patterns

OPERATOR = "Max"


def evaluate(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of X.

    Raises:
        NoValue: the shapes are not broadcastable (Max.broadcastable).
    """
    return (maximum(X),)


def maximum(X: Sequence[Array]) -> Array:
    """Y[i] = max over m of Zm[i]."""
    shape = common_shape(X)
    Z = [patterns(np.broadcast_to(x, shape)) for x in X]
    Y = np.empty(shape, X[0].dtype)
    of_two = larger(Y.dtype)
    for i in np.ndindex(shape):
        patterns(Y)[i] = reduce(of_two, (int(z[i]) for z in Z))
    return Y


def common_shape(X: Sequence[Array]) -> tuple[int, ...]:
    """The shape of Y.

    Raises:
        NoValue: there is none.
    """
    shapes = [x.shape for x in X]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, dict.fromkeys(shapes)))
        raise NoValue("Max.broadcastable", f"the shapes {listed} are not broadcastable") from None
