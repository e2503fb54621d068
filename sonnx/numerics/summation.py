"""Error-free transformations, and sums of floating-point values, over their number for a mean, rounded once.

Elements of at most 32 bits are added in float64, and what each addition cuts off is kept (Knuth's two_sum): s + r,
where r adds up the cut parts.  Sums of few elements are mostly exact, and then halfway cases are common: a mean of four
is one with every fourth element.  So where nothing was cut off the quotient s / n is rounded to odd by the sign of its
exact remainder, which decides every case.  Elsewhere s / n is off by at most (|remainder| + |r| + error of r) / n.

Additions of float64 give the zero the sum has: -0 where all addends are -0, else +0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sonnx.numerics.certified_rounding import UNIT, certify
from sonnx.numerics.formats import Array
from sonnx.numerics.rounding import to_nearest

SPLITTER = 2.0**27 + 1

Total = tuple[Array, Array, Array]
"""Sums in float64, the sum of what was cut off, and of its absolute values."""


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The sum rounded, and exactly what that cuts off (Knuth)."""
    array = x + y
    part = array - x
    return array, (x - (array - part)) + (y - part)


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """The product rounded, and exactly what that cuts off (Dekker), where nothing overflows or underflows."""
    array = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return array, x_low * y_low - (((array - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Array) -> tuple[Array, Array]:
    spread = x * SPLITTER
    high = spread - (spread - x)
    return high, x - high


def total_of(parts: Iterator[Array]) -> Total:
    """The sums of arrays of one shape, of at least one array."""
    array = next(parts).astype(np.float64)
    cut, size = np.zeros(array.shape), np.zeros(array.shape)
    for part in parts:
        array, error = two_sum(array, part.astype(np.float64))
        cut += error
        size += np.abs(error, out=error)
    return array, cut, size


def total_along_first(values: Array) -> Total:
    """The sums along the first axis, of at least one element, by halves."""
    array = values.astype(np.float64)
    cut, size = np.zeros(array.shape[1:]), np.zeros(array.shape[1:])
    while len(array) > 1:
        half = len(array) // 2
        rest = array[2 * half :]
        array, errors = two_sum(array[:half], array[half : 2 * half])
        cut += errors.sum(axis=0)
        size += np.abs(errors).sum(axis=0)
        if len(rest):
            array[-1], error = two_sum(array[-1], rest[0])
            cut += error
            size += np.abs(error)
    return array[0], cut, size


def round_total(total: Total, count: int, divisor: Array | float, kind: np.dtype[Any]) -> tuple[Array, Array]:
    """Sums of `count` elements over a whole number, rounded once, and where that is open.

    Args:
        total: the sums.
        count: how many elements were added; the sum of what was cut off has a relative error of count * 2^-53.
        divisor: at least 1, and below 2^53.
        kind: the type of the elements, of at most 32 bits.
    """
    array, cut, size = total
    quotient = np.divide(array, divisor)
    product, error = two_product(quotient, np.asarray(divisor, np.float64))
    remainder = (array - product) - error
    odd = to_odd(quotient, remainder)
    exact = (size == 0) | ~np.isfinite(array)
    if exact.all():
        return to_nearest(odd, kind), np.zeros(array.shape, np.bool_)
    bound = (np.abs(remainder) + np.abs(cut) + size * (2 * count * UNIT)) / divisor * (1 + 2.0**-20)
    np.copyto(bound, 0, where=exact)
    return certify(np.where(exact, odd, quotient), bound, kind)


def to_odd(quotient: Array, remainder: Array) -> Array:
    """A double and what it lacks, rounded to odd: itself if exact, else the double beside it whose last digit is 1."""
    even = quotient.view(np.int64) & 1 == 0
    move = even & (remainder != 0) & np.isfinite(quotient)
    if not move.any():
        return quotient
    return np.where(move, np.nextafter(quotient, np.copysign(np.inf, remainder)), quotient)
