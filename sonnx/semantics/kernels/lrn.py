"""LRN, fast, where beta is 0.75: d^0.75 is sqrt(d) sqrt(sqrt(d)), and square roots are rounded once by IEEE 754.

In float64 squares are exact, the sum of n of them in any order is off by a factor of at most (1 + u)^(n-1) with
u = 2^-53, and all addends are positive.  The divisor d is off by a factor within (1 + u)^(n+3) then, its power, the
product and the quotient by one within (1 + u)^(n+8).  Nothing overflows or underflows there, so an infinity, a NaN and
a zero are those of the formula.  Another beta, float64, and what stays open go to the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.semantics import lrn, reals
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.certified import UNIT
from sonnx.semantics.kernels.settling import BLOCK, Bound, settle

BETA = 0.75


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    (X,) = inputs
    made = lrn.parameters(application, X)
    if made[1] != BETA or X.dtype == np.float64 or not X.size:
        return lrn.evaluate(application, inputs)
    if X.ndim == 2:  # one element for each channel
        return (evaluate(application, [X[:, :, None]])[0][:, :, 0],)
    Y, exact, count = np.empty(X.shape, X.dtype), 0, X.shape[1]
    shape = (len(X), count, prod(X.shape[2:]))
    elements, target, step = X.reshape(shape), Y.reshape(shape), max(1, BLOCK // max(1, count))
    for b in range(len(X)):
        for start in range(0, shape[2], step):
            some = slice(start, start + step)
            values, open_ = _block(elements[b, :, some], *made)
            target[b, :, some] = values
            for c, place in np.argwhere(open_).tolist():
                index = tuple(int(i) for i in np.unravel_index(start + place, X.shape[2:]))
                Y[(b, c, *index)] = reals.array([lrn.element(X, (b, c, *index), *made)], X.dtype, ())[()]
                exact += 1
    application.count(Y.size, exact)
    return (Y,)


def _block(X: Array, alpha: float, _: float, bias: float, size: int) -> tuple[Array, Array]:
    """Y of a block of places, all of their channels, and where it is open."""
    x, count = X.astype(np.float64), len(X)
    squares, divisor = x * x, np.zeros(x.shape)
    around = lrn.channels(count - 1, 2 * count - 1, size)  # of a channel with as many on both sides
    for shift in range(around.start - (count - 1), around.stop - (count - 1)):
        divisor[max(0, -shift) : count - max(0, shift)] += squares[max(0, shift) : count + min(0, shift)]
    divisor *= alpha / size
    divisor += bias
    root = np.sqrt(divisor)
    root *= np.sqrt(root)
    x /= root
    Y = np.empty(X.shape, X.dtype)
    undecided = settle(x.reshape(-1), Bound((size + 10) * UNIT), Y.reshape(-1))
    return Y, np.zeros(X.shape, np.bool_) if undecided is None else undecided.reshape(X.shape)
