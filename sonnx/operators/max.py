"""Max: Y[i] = max over m in [0, L] of Zm[i], where (Z0, …, ZL) = Broadcast(X0, …, XL).

SONNX Max, second edition, lines 34 to 57; first edition, lines 26 to 49; ONNX Max-1 to Max-13.  One meaning serves
every version: the versions differ in the types and shapes they admit.  The order of floating-point values is that of
`numerics/order.py`: NaN > +Inf > positive > +0 > -0 > negative > -Inf.  Of several NaNs the first input's is the
result, bit for bit: no text names one, and a result that depends on nothing but the inputs can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, larger, patterns
from sonnx.numerics.maximum import fast_maximum
from sonnx.operators.operator import Operator


def define(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of X."""
    return (maximum(broadcast(application.operator, *X)),)


def maximum(Z: Sequence[Array]) -> Array:
    """Y[i] = max over m of Zm[i]."""
    Y = np.empty(Z[0].shape, Z[0].dtype)
    of_two = larger(Y.dtype)
    for i in np.ndindex(Y.shape):
        patterns(Y)[i] = reduce(of_two, (int(patterns(z)[i]) for z in Z))
    return Y


def kernel(application: Application) -> Kernel:
    """The kernel; see `fast_maximum`."""
    return lambda inputs, out: fast_maximum(inputs, out, application.block)


OPERATOR = Operator(
    name="Max",
    elementwise=True,
    commutative_numbers=True,
    associative=True,
    continuous=True,
    selects=True,
    define=define,
    kernel=kernel,
    bound=selection.extremum(1.0),
)
