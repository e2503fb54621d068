"""Real functions, correctly rounded, through MPFR (the package gmpy2).

An element is an `mpfr` number that holds it exactly, with the sign of its zero, an infinity, or NaN.  A context rounds:
that of `rounding_context` once to nearest even into a type, with its subnormal numbers and its overflow; those of
`directed_contexts` down and up with a given number of binary digits.  MPFR's functions are correctly rounded in the
context, so one function of exact arguments is one call; a formula of several is enclosed from below and above with more
and more digits until both ends round alike (Ziv's strategy).
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

Mpfr: TypeAlias = Any
"""gmpy2.mpfr; the package has no types."""

Context: TypeAlias = Any
"""gmpy2.context."""

Enclosure: TypeAlias = Callable[[Context, Context], tuple[Mpfr, Mpfr]]
"""From contexts that round down and up: a number that is not above the real, and one that is not below it."""

GUARD_DIGITS = 32
"""Digits beyond those of the type that the first enclosure has."""

MAX_EXPONENT = 2200
"""Exponents of enclosures reach from -MAX_EXPONENT to MAX_EXPONENT: twice as far as those of any type."""


@cache
def rounding_context(kind: np.dtype[Any]) -> Context:
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
def directed_contexts(digits: int) -> tuple[Context, Context]:
    """The contexts that round down and up."""
    down, up = (
        gmpy2.context(precision=digits, round=way, emax=MAX_EXPONENT, emin=-MAX_EXPONENT)
        for way in (gmpy2.RoundDown, gmpy2.RoundUp)
    )
    return down, up


def round_enclosed(once: Context, enclosure: Enclosure) -> Mpfr:
    """The real that is enclosed, rounded by `once`; an exact zero is +0.

    The loop ends: an enclosure of a number with few digits becomes that number, and no other real of the operators lies
    halfway between two numbers.
    """
    digits = once.precision + GUARD_DIGITS
    while True:
        low, high = (once.plus(end) for end in enclosure(*directed_contexts(digits)))
        if low == high or gmpy2.is_nan(low):
            return high
        digits *= 2


def to_mpfr_list(values: Array) -> list[Mpfr]:
    """The elements of a floating-point array, in row-major order."""
    with np.errstate(all="ignore"):
        return [gmpy2.mpfr(value) for value in values.astype(np.float64).ravel().tolist()]


def from_mpfr(values: Iterable[Mpfr], kind: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Numbers that a context of the type has rounded; every NaN is the quiet one without sign and payload."""
    with np.errstate(all="ignore"):
        array = np.array([float(value) for value in values], np.float64)
        np.copyto(array, np.nan, where=np.isnan(array))  # gmpy2 gives it a sign
        return array.astype(kind).reshape(shape)


def is_nan(value: Mpfr) -> bool:
    """Whether an element is NaN."""
    return bool(gmpy2.is_nan(value))


def is_zero(value: Mpfr) -> bool:
    """Whether an element is a zero of either sign."""
    return bool(gmpy2.is_zero(value))


def is_infinite(value: Mpfr) -> bool:
    """Whether an element is infinite."""
    return bool(gmpy2.is_infinite(value))


def is_negative(value: Mpfr) -> bool:
    """Whether the sign is set, also that of a zero."""
    return bool(value.is_signed())


def to_mpfr(value: float | int) -> Mpfr:
    """A number of Python, exactly."""
    return gmpy2.mpfr(value, max(value.bit_length(), 1)) if isinstance(value, int) else gmpy2.mpfr(value)


NAN, INFINITY, ZERO, ONE = (gmpy2.mpfr(literal) for literal in ("nan", "inf", "0", "1"))
