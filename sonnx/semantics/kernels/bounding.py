"""Elements brought between bounds, for Clip and Relu; zeros and NaN as they stand.

np.maximum and np.minimum give the right number but for the sign of a zero, where the bound is a zero as well: then
every zero is copied once more, unless it is +0 and so is the lower bound: a block holds -0 if the least integer of its
patterns is that of -0.  So are NaNs.
"""

from __future__ import annotations

import numpy as np

from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.settling import BLOCK
from sonnx.semantics.kernels.trust import maximum_keeps_the_first_nan


def bounded(X: Array, low: Array | None, high: Array | None, out: Array) -> None:
    """Low where X < low, high where X > high, else X; the bounds of rank 0 and in order, NaN and None are none.

    Args:
        X: of any strides.
        low: the lower bound.
        high: the upper bound.
        out: C-contiguous, of the shape of X.
    """
    made = format_of(X.dtype)
    low, high = (None if each is None or each != each else each for each in (low, high))
    flat, source = out.reshape(-1), np.ascontiguousarray(X).reshape(-1)
    trusted = made is None or (X.dtype.itemsize > 2 and maximum_keeps_the_first_nan(X.dtype))
    zero_bounds = [each for each in (low, high) if made is not None and each is not None and each == 0]
    zeros, negative = bool(zero_bounds), (high is not None and high == 0) or any(map(np.signbit, zero_bounds))
    for start in range(0, flat.size, BLOCK):
        x, y = source[start : start + BLOCK], flat[start : start + BLOCK]
        if not trusted or len(zero_bounds) > 1:
            _by_comparison(x, low, high, y)
            continue
        _by_extremes(x, low, high, y)
        if made is None:
            continue
        if zeros and (negative or np.minimum.reduce(x.view(made.signed)) == -made.sign):
            np.copyto(y, x, where=x == 0)
        nan = np.isnan(y)
        if nan.any():
            np.copyto(y, x, where=nan)


def _by_comparison(x: Array, low: Array | None, high: Array | None, y: Array) -> None:
    np.copyto(y, x)
    if low is not None:
        np.copyto(y, low, where=x < low)
    if high is not None:
        np.copyto(y, high, where=x > high)


def _by_extremes(x: Array, low: Array | None, high: Array | None, y: Array) -> None:
    if low is None:
        np.copyto(y, x)
    else:
        np.maximum(x, low, out=y)
    if high is not None:
        np.minimum(y, high, out=y)
