"""LRN, fast, where beta is 0.75: d^0.75 is sqrt(d) sqrt(sqrt(d)), and square roots are rounded once by IEEE 754.

In float64 squares are exact, the sum of n of them is off by a factor of at most (1 + u)^(n-1) with u = 2^-53, and all
addends are positive.  The divisor d is off by a factor within (1 + u)^(n+3) then, its power, the product and the
quotient by one within (1 + u)^(n+8).  Another beta, float64, and what stays open go to the definition.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics import lrn, reals
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.certified import UNIT, decided

BETA = 0.75


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    (X,) = inputs
    alpha, beta, bias, size = made = lrn.parameters(application, X)
    if beta != BETA or X.dtype == np.float64:
        return lrn.evaluate(application, inputs)
    if X.ndim == 2:  # one element for each channel
        return (evaluate(application, [X[:, :, None]])[0][:, :, 0],)
    Y, exact, count = np.empty(X.shape, X.dtype), 0, X.shape[1]
    for b in range(len(X)):
        squares = X[b].astype(np.float64) ** 2
        for c in range(count):
            around = lrn.channels(c, count, size)
            divisor = np.add.reduce(squares[around.start : around.stop], axis=0) * alpha / size + bias
            root = np.sqrt(divisor)
            quotient = X[b, c] / (root * np.sqrt(root))
            Y[b, c], open_ = decided(quotient, np.abs(quotient) * ((len(around) + 10) * UNIT), X.dtype)
            for place in np.argwhere(open_):
                index = (b, c, *place.tolist())
                Y[index] = reals.array([lrn.element(X, index, *made)], X.dtype, ())
                exact += 1
    application.count(Y.size, exact)
    return (Y,)
