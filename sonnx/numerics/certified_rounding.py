"""Certified rounding: an approximation with an error bound is rounded where the bound decides the result, else marked.

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

`certify_block` takes a block of approximations in the wider type with a `Bound`, relative, absolute or both.  For float
the pattern of the float64 y decides at once: 29 of its 52 digits are cut off, and y rounds like v unless the middle
2^28 of what is cut off lies within relative * 2^53 units in the last place.  (v in the binade below has its nearest
middle 2^27 units away.)  Where the result is subnormal or zero, or an absolute error counts, and for types of 16 bits,
both ends of the interval above must round alike; so must they for a y of long double.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.rounding import canonicalize_nans, grid_of, to_nearest
from sonnx.numerics.scratch import Scratch

UNIT = 2.0**-53
"""The relative error of a rounding to float64."""

BOUND_FACTOR, MAGNITUDE_FACTOR, LEAST_POSITIVE = 1 + 2.0**-50, 2.0**-51, 2.0**-1074
"""The constants of the half width B."""

SINGLE, DOUBLE, LONG_DOUBLE = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.longdouble)

CUT_OFF = np.uint64((1 << 29) - 1)
"""The digits of a float64 that float32 does not have."""

LEAST_NORMAL_SINGLE, INFINITE_SINGLE = np.uint32(1 << 23), np.uint32(0x7F800000)
"""Bit patterns of float32: the least normal number, and infinity."""

MAGNITUDE_OF_SINGLE = np.uint32(0x7FFFFFFF)
"""All bits but the sign."""

_BITS = Scratch()


def certify(approximation: Array, bound: Array | float, kind: np.dtype[Any]) -> tuple[Array, Array]:
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
        half_width *= MAGNITUDE_FACTOR
        half_width += np.multiply(bound, BOUND_FACTOR) + LEAST_POSITIVE
        low = to_nearest(approximation - half_width, kind)
        high = to_nearest(np.add(approximation, half_width, out=half_width), kind)
        unsigned = grid_of(kind).number_format.unsigned
        undecided = low.view(unsigned) != high.view(unsigned)
        undecided |= ~(np.abs(approximation) <= np.finfo(np.float64).max)  # infinite, NaN
        undecided |= np.isnan(bound)
        exact = np.equal(bound, 0)
        if exact.any():
            mask = np.broadcast_to(exact, approximation.shape)
            np.copyto(low, to_nearest(approximation, kind), where=mask)
            undecided &= ~mask
    return low, undecided


def half_width(bound: Array | float, largest: Array | float) -> Array | float:
    """The B above, for `certify_singles`; `largest` is at least the magnitude of each approximation."""
    width: Array | float = bound * BOUND_FACTOR + largest * MAGNITUDE_FACTOR + LEAST_POSITIVE
    return width


def certify_singles(
    approximation: Array, half_width: Array | float, out: Array, high: Array, added: Array | float = 0.0
) -> Array:
    """As `certify`, for finite approximations and float32, in memory that is given.

    Args:
        approximation: float64, finite; what is added to it counts as a part of it in `half_width`.
        half_width: finite, broadcastable; nothing is decided about a zero.
        out: float32, for the values; its last axis is contiguous.
        high: as `out`, for their other ends.
        added: a number for each approximation, which costs no pass; its digits are lost as those of a sum are, so that
            `half_width` counts 2^-52 of it.

    Returns:
        A mask of the elements that stay open.
    """
    np.add(approximation, added - half_width, out=out, casting="same_kind")
    np.add(approximation, added + half_width, out=high, casting="same_kind")
    undecided: Array = out.view(np.uint32) != high.view(np.uint32)
    return undecided


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest error of an approximation: relative * |approximation| + absolute.

    `relative` is a number; for long double it may be an array, one for each element.
    """

    relative: Any
    absolute: float = 0.0

    def of(self, approximation: Array) -> Array:
        """The bound of each element."""
        bound: Array = np.abs(approximation) * self.relative
        return bound + self.absolute if self.absolute else bound


def wide_type(kind: np.dtype[Any]) -> np.dtype[Any] | None:
    """The type in which elements of a type are approximated, None where no type is wider."""
    if kind.itemsize < DOUBLE.itemsize:
        return DOUBLE
    return LONG_DOUBLE if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant else None


def certify_block(y: Array, bound: Bound, out: Array) -> Array | None:
    """Round approximations into `out`; a mask of the elements that the bound does not decide, or None.

    Args:
        y: flat, of the `wide_type` of `out`, or of long double for float; of any size, best of a block.
        bound: of its error.
        out: flat; its elements under the mask have no meaning.
    """
    if y.dtype != DOUBLE:
        return _interval(y, bound, out)
    if out.dtype == SINGLE:
        return _single(y, bound, out)
    values, undecided = certify(y, bound.of(y), out.dtype)
    out[...] = values
    special = ~np.isfinite(y)
    if special.any():  # an approximation is infinite or NaN only where the function is, or lies beyond every type
        out[special] = y[special].astype(out.dtype)
        undecided &= ~special
        canonicalize_nans(out)
    return undecided if undecided.any() else None


def _single(y: Array, bound: Bound, out: Array) -> Array | None:
    np.copyto(out, y, casting="unsafe")
    units = ceil(bound.relative * 2**53) + 1
    cut = _BITS.array(y.size, np.dtype(np.uint64))
    np.subtract(y.view(np.uint64), np.uint64(2**28 - units), out=cut)
    np.bitwise_and(cut, CUT_OFF, out=cut)
    undecided = cut <= 2 * units if np.minimum.reduce(cut) <= 2 * units else None
    magnitude = _BITS.array(y.size, np.dtype(np.uint32))  # `cut` is not needed any more
    np.bitwise_and(out.view(np.uint32), MAGNITUDE_OF_SINGLE, out=magnitude)
    if np.minimum.reduce(magnitude) <= LEAST_NORMAL_SINGLE or bound.absolute:
        undecided = _small(y, bound, out, magnitude, undecided)
    if np.maximum.reduce(magnitude) > INFINITE_SINGLE:
        canonicalize_nans(out)
    return undecided


def _small(y: Array, bound: Bound, out: Array, magnitude: Array, undecided: Array | None) -> Array | None:
    """The elements whose spacing is not that of their binade, or whose error is not relative."""
    places = np.nonzero((magnitude <= LEAST_NORMAL_SINGLE) & (y != 0) if not bound.absolute else np.isfinite(y))[0]
    if not len(places):
        return undecided
    values, uncertain = certify(y[places], bound.of(y[places]), out.dtype)
    out[places] = values
    if undecided is None:
        undecided = np.zeros(len(y), np.bool_)
    undecided[places] = uncertain
    return undecided if undecided.any() else None


def _interval(y: Array, bound: Bound, out: Array) -> Array | None:
    width = bound.of(y)
    width += np.abs(y) * LONG_DOUBLE.type(2.0**-62)  # what the sums below may lose
    np.copyto(out, y - width, casting="unsafe")
    high = (y + width).astype(out.dtype)
    number_format = format_of(out.dtype)
    assert number_format is not None  # noqa: S101  float or double
    undecided = (out.view(number_format.unsigned) != high.view(number_format.unsigned)) | ~np.isfinite(width)
    undecided &= np.isfinite(y)
    special = ~np.isfinite(y)
    if special.any():
        out[special] = y[special].astype(out.dtype)
        canonicalize_nans(out)
    return undecided if undecided.any() else None
