"""Rounding a float64 approximation with an error bound: the value where it is certain, a mark where it is not.

Let v be the exact value, a the approximation and |v - a| <= b.  Rounding to nearest is monotone, so where the two ends
of an interval that contains [a - b, a + b] round to the same element, v rounds to it as well.  The sum a - b computed
in float64 may be off by 2**-53 of itself, therefore the half width taken is a little larger:

    B = b * (1 + 2**-50) + |a| * 2**-51 + 2**-1074,   so that   fl(a - B) <= a - b   and   a + b <= fl(a + B).

Proof: fl(a - B) is at most (a - B) + 2**-53 * |a - B| (sums have no error below 2**-1021), and B computed in float64 is
at least (b * (1 + 2**-50) + |a| * 2**-51) * (1 - 2**-51), where 2**-1074 makes up for a product that falls below the
normal numbers.  So B - 2**-53 * (|a| + B) >= b + 2**-53 * |a|: the approximation may itself be a number that was
rounded once to float64, after the error b is counted.

The sign of a zero is decided only where all of the interval lies on one side of 0: a value that underflows to zero
keeps its sign.  A bound of 0 says that the approximation is the exact value, the sign of its zero included.  An
infinite or NaN approximation is decided only by a bound of 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.semantics.formats import Array
from sonnx.semantics.rounding import grid_of, nan_of, narrow

UNIT = 2.0**-53
"""The relative error of a rounding to float64."""

WIDTH, SLACK, LEAST = 1 + 2.0**-50, 2.0**-51, 2.0**-1074


def decided(approximation: Array, bound: Array | float, kind: np.dtype[Any]) -> tuple[Array, Array]:
    """The exact values rounded to nearest even, and where they are not decided.

    Args:
        approximation: float64.
        bound: the absolute error of each element, or of all; at least 0, NaN where nothing is known.
        kind: float16, bfloat16 or float.

    Returns:
        Elements of the type, and a mask of those the bound does not decide (their values have no meaning).
    """
    with np.errstate(all="ignore"):
        half_width = np.abs(approximation)
        half_width *= SLACK
        half_width += np.multiply(bound, WIDTH) + LEAST
        low = nearest(approximation - half_width, kind)
        high = nearest(np.add(approximation, half_width, out=half_width), kind)
        unsigned = _unsigned(kind)
        undecided = low.view(unsigned) != high.view(unsigned)
        undecided |= ~(np.abs(approximation) <= np.finfo(np.float64).max)  # infinite, NaN
        undecided |= np.isnan(bound)
        exact = np.equal(bound, 0)
        if exact.any():
            mask = np.broadcast_to(exact, approximation.shape)
            np.copyto(low, nearest(approximation, kind), where=mask)
            undecided &= ~mask
    return low, undecided


def half_width(bound: Array | float, largest: Array | float) -> Array | float:
    """What to take off and add for `certain`: B as above, with at least the magnitude of each approximation for |a|."""
    made: Array | float = bound * WIDTH + largest * SLACK + LEAST
    return made


def certain(approximation: Array, half_width: Array | float, out: Array, high: Array) -> Array:
    """As `decided`, for finite approximations and float32, in memory that is given.

    Args:
        approximation: float64, finite.
        half_width: finite, broadcastable; nothing is decided about a zero.
        out: float32, for the values; its last axis is contiguous.
        high: as `out`, for their other ends.

    Returns:
        The flat numbers of the elements that stay open.
    """
    np.subtract(approximation, half_width, out=out, casting="same_kind")
    np.add(approximation, half_width, out=high, casting="same_kind")
    differ = out.view(np.uint32) != high.view(np.uint32)
    return np.flatnonzero(differ) if differ.any() else _NONE


_NONE = np.empty(0, np.intp)


def nearest(values: Array, kind: np.dtype[Any]) -> Array:
    """float64 values rounded to nearest even, once; every NaN becomes the one an operation makes."""
    with np.errstate(all="ignore"):
        made = narrow(values, kind)
    nan = np.isnan(values)
    if nan.any():
        made.view(_unsigned(kind))[nan] = nan_of(kind)
    return made


def _unsigned(kind: np.dtype[Any]) -> np.dtype[Any]:
    return grid_of(kind).made.unsigned
