"""Real functions, correctly rounded, through MPFR (the package gmpy2).

An element is an `mpfr` number that holds it exactly, with the sign of its zero, an infinity, or NaN.  A context rounds:
`nearest` once to nearest even into a type, with its subnormal numbers and its overflow; `directed` down and up with as
many binary digits as asked for.  MPFR's functions are correctly rounded in the context, so one function of exact
arguments is one call; a formula of several is enclosed from below and above with more and more digits until both ends
round alike (Ziv's strategy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.formats import Array
from sonnx.numerics.rounding import grid_of

try:
    import gmpy2
except ImportError:
    raise NotExecutable("its exact values need the package gmpy2 (MPFR): pip install gmpy2") from None

Number: TypeAlias = Any
"""gmpy2.mpfr; the package has no types."""

Context: TypeAlias = Any
"""gmpy2.context."""

Enclosure: TypeAlias = Callable[[Context, Context], tuple[Number, Number]]
"""From contexts that round down and up: a number that is not above the real, and one that is not below it."""

GUARD = 32
"""Digits beyond those of the type that the first enclosure has."""

WIDEST = 2200
"""Exponents of enclosures reach from -WIDEST to WIDEST: twice as far as those of any type."""


@cache
def nearest(kind: np.dtype[Any]) -> Context:
    """The context that rounds once to nearest even into a floating-point type."""
    grid = grid_of(kind)
    return gmpy2.context(
        precision=grid.precision,
        round=gmpy2.RoundToNearest,
        emax=grid.top,
        emin=grid.least + 1,
        subnormalize=True,
    )


@cache
def directed(digits: int) -> tuple[Context, Context]:
    """The contexts that round down and up."""
    down, up = (
        gmpy2.context(precision=digits, round=way, emax=WIDEST, emin=-WIDEST)
        for way in (gmpy2.RoundDown, gmpy2.RoundUp)
    )
    return down, up


def certain(once: Context, enclosure: Enclosure) -> Number:
    """The real an enclosure encloses, rounded by `once`; an exact zero is +0.

    It ends: an enclosure of a number with few digits becomes that number, and no other real of the operators lies
    halfway between two numbers.
    """
    digits = once.precision + GUARD
    while True:
        low, high = (once.plus(end) for end in enclosure(*directed(digits)))
        if low == high or gmpy2.is_nan(low):
            return high
        digits *= 2


# ------------------------------------------------------------------ arrays


def numbers(values: Array) -> list[Number]:
    """The elements of a floating-point array, in row-major order."""
    with np.errstate(all="ignore"):
        return [gmpy2.mpfr(value) for value in values.astype(np.float64).ravel().tolist()]


def array(values: Iterable[Number], kind: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Numbers that a context of the type has rounded; every NaN is the quiet one without sign and payload."""
    with np.errstate(all="ignore"):
        made = np.array([float(value) for value in values], np.float64)
        np.copyto(made, np.nan, where=np.isnan(made))  # gmpy2 gives it a sign
        return made.astype(kind).reshape(shape)


def is_nan(value: Number) -> bool:
    """Whether an element is NaN."""
    return bool(gmpy2.is_nan(value))


def is_zero(value: Number) -> bool:
    """Whether an element is a zero of either sign."""
    return bool(gmpy2.is_zero(value))


def is_infinite(value: Number) -> bool:
    """Whether an element is infinite."""
    return bool(gmpy2.is_infinite(value))


def is_negative(value: Number) -> bool:
    """Whether the sign is set, also that of a zero."""
    return bool(value.is_signed())


def number(value: float | int) -> Number:
    """A number of Python, exactly."""
    return gmpy2.mpfr(value, max(value.bit_length(), 1)) if isinstance(value, int) else gmpy2.mpfr(value)


NAN, INFINITY, ZERO, ONE = (gmpy2.mpfr(each) for each in ("nan", "inf", "0", "1"))
