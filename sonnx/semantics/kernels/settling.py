"""From approximations in a wider type to elements that are certain, and a mask of those that are not.

`Bound` says how far an approximation y may be from the exact value v: |v - y| <= relative * |y| + absolute.  Those of
16 bits go through `certified.py`.  For float, the pattern of the float64 y tells at once: 29 of its 52 digits are cut
off, and y rounds like v unless the middle 2^28 of what is cut off lies within relative * 2^53 units in the last place.
(v in the binade below has its nearest middle 2^27 units away.)  Where the result is subnormal or zero, or an absolute
error counts, `certified.py` decides.  For a y of long double both ends of the interval must round alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.certified import decided
from sonnx.semantics.kernels.scratch import scratch
from sonnx.semantics.rounding import nan_of

BLOCK = 1 << 16
"""Elements of a block: larger ones leave the second-level cache, smaller ones pay for numpy's calls."""

WIDE, LONG = np.dtype(np.float64), np.dtype(np.longdouble)

CUT, SINGLE = np.uint64((1 << 29) - 1), np.dtype(np.float32)

LEAST_NORMAL = np.uint32(1 << 23)


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
    """The type in which elements of a type are approximated, None where there is none that is wider."""
    if kind.itemsize < WIDE.itemsize:
        return WIDE
    return LONG if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant else None


def settle(y: Array, bound: Bound, out: Array) -> Array | None:
    """Round approximations of at most a block into `out`; a mask of the elements that are not certain, or None.

    Args:
        y: flat, of the `wide_type` of `out`, or of long double for float.
        bound: of its error.
        out: flat; what the mask marks has no meaning.
    """
    if y.dtype != WIDE:
        return _interval(y, bound, out)
    if out.dtype == SINGLE:
        return _single(y, bound, out)
    values, undecided = decided(y, bound.of(y), out.dtype)
    out[...] = values
    special = ~np.isfinite(y)
    if special.any():  # a function is infinite or NaN where it is said to be, or beyond every type
        out[special] = y[special].astype(out.dtype)
        undecided &= ~special
        one_nan(out)
    return undecided if undecided.any() else None


def _single(y: Array, bound: Bound, out: Array) -> Array | None:
    np.copyto(out, y, casting="unsafe")
    units = ceil(bound.relative * 2**53) + 1
    cut = scratch(1, y.size, np.dtype(np.uint64))
    np.subtract(y.view(np.uint64), np.uint64(2**28 - units), out=cut)
    np.bitwise_and(cut, CUT, out=cut)
    undecided = cut <= 2 * units if np.minimum.reduce(cut) <= 2 * units else None
    magnitude = scratch(1, 2 * y.size, np.dtype(np.uint32))[: y.size]
    np.bitwise_and(out.view(np.uint32), np.uint32(0x7FFFFFFF), out=magnitude)
    if np.minimum.reduce(magnitude) <= LEAST_NORMAL or bound.absolute:
        undecided = _small(y, bound, out, magnitude, undecided)
    if np.maximum.reduce(magnitude) > np.uint32(0x7F800000):
        one_nan(out)
    return undecided


def _small(y: Array, bound: Bound, out: Array, magnitude: Array, undecided: Array | None) -> Array | None:
    """The elements whose spacing is not that of their binade, or whose error is not relative."""
    places = np.nonzero((magnitude <= LEAST_NORMAL) & (y != 0) if not bound.absolute else np.isfinite(y))[0]
    if not len(places):
        return undecided
    values, uncertain = decided(y[places], bound.of(y[places]), out.dtype)
    out[places] = values
    if undecided is None:
        undecided = np.zeros(len(y), np.bool_)
    undecided[places] = uncertain
    return undecided if undecided.any() else None


def _interval(y: Array, bound: Bound, out: Array) -> Array | None:
    width = bound.of(y)
    width += np.abs(y) * LONG.type(2.0**-62)  # what the sums below may lose
    np.copyto(out, y - width, casting="unsafe")
    high = (y + width).astype(out.dtype)
    made = format_of(out.dtype)
    assert made is not None  # noqa: S101  float or double
    undecided = (out.view(made.unsigned) != high.view(made.unsigned)) | ~np.isfinite(width)
    undecided &= np.isfinite(y)
    special = ~np.isfinite(y)
    if special.any():
        out[special] = y[special].astype(out.dtype)
        one_nan(out)
    return undecided if undecided.any() else None


def one_nan(out: Array) -> None:
    """Every NaN becomes the quiet one without sign and payload: processors differ in the one they make."""
    nan = np.isnan(out)
    if nan.any():
        made = format_of(out.dtype)
        assert made is not None  # noqa: S101  a floating-point type
        out.view(made.unsigned)[nan] = nan_of(out.dtype)
