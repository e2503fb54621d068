"""MaxPool: Y[b, c, m, n] = max over h, w of X[b, c, m s0 + h d0 - p0, n s1 + w d1 - p1], elements of X only.

SONNX MaxPool of 2026-08 and 2026-10; ONNX MaxPool-1 to MaxPool-22, for any number of spatial axes.  The order is that
of Max: NaN is highest, +0 above -0 (erratum maxpool-zeros-and-nan); of several NaNs the first of the window is the
result, bit for bit.  Indices holds the place of the first element of the window, in row-major order, that is the
maximum, counted over all of X (erratum maxpool-index-over-plane); with storage_order = 1 the spatial axes of X are
counted with the first one fastest.  Padding is no element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics import pooling
from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, patterns, place
from sonnx.semantics.windows import Windows, windows

OPERATOR = "MaxPool"
written_out = pooling.written_out


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Y, of the type of X, and Indices, int64, where they are asked for.

    Raises:
        NoValue: a window lies on padding only (MaxPool.every-window-touches).
    """
    (X,), slid = inputs, windows_of(application, inputs[0])
    key, numbers = place(X.dtype), numbering(application, X)
    Y = np.empty((*X.shape[:2], *slid.places), X.dtype)
    indices = np.empty(Y.shape, np.int64)
    for b, c, *at in np.ndindex(Y.shape):
        candidates = [(b, c, *each) for each in slid.under(at) if each is not None]
        if not candidates:
            raise NoValue("MaxPool.every-window-touches", f"the window at {at} lies on padding only")
        best = max(candidates, key=lambda each: key(int(patterns(X)[each])))  # max gives the first
        patterns(Y)[(b, c, *at)] = patterns(X)[best]
        indices[(b, c, *at)] = numbers[best]
    return (Y, indices)[: application.outputs]


def windows_of(application: Application, X: Array) -> Windows:
    """The places of the window on the spatial axes of X."""
    names = application.names
    return windows(X.shape[2:], names["kernel_shape"], names["strides"], names["spacing"], names["pads"])


def numbering(application: Application, X: Array) -> Array:
    """The number of each element of X as Indices gives it.

    Raises:
        NoValue: storage_order is neither 0 nor 1; no text says what that means.
    """
    order = application.names.get("storage_order", 0)
    if order not in (0, 1):
        raise NoValue("MaxPool.row-major", f"storage_order is {order}")
    numbers = np.arange(X.size)
    if order == 0:
        return numbers.reshape(X.shape)
    turned = (*X.shape[:2], *reversed(X.shape[2:]))
    return numbers.reshape(turned).transpose(0, 1, *range(X.ndim - 1, 1, -1))
