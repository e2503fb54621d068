"""An exact real rounded once to nearest, ties to even, into a floating-point format; and back.

IEEE 754-2019, section 4.3.1 roundTiesToEven: the real is rounded as if the exponent had no upper bound; what then lies
above the largest finite number is an infinity; below the normal numbers the spacing is that of the subnormal ones.

A finite number is m * 2^e with whole m and e.  With m of at most p binary digits and e at least the exponent of the
least positive number, its bit pattern is (e - least) * 2^(p-1) + m: for normal and subnormal numbers alike, and a
carry into the next power of two, or from the largest number to infinity, comes out by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from sonnx.numerics.formats import ELEMENTS, Array, Format, format_of


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the numbers of a format lie: `precision` binary digits, multiples of 2^least, infinity from 2^top on."""

    number_format: Format
    precision: int
    least: int
    top: int


@cache
def grid_of(kind: np.dtype[Any]) -> Grid:
    """The numbers of a floating-point type.

    Raises:
        TypeError: it is not a floating-point type.
    """
    number_format = format_of(kind)
    if number_format is None:
        raise TypeError(f"{kind} is not a floating-point type")
    precision = (number_format.sign - number_format.infinity).bit_length()
    top = 1 << (number_format.infinity >> precision - 1).bit_length() - 1
    return Grid(number_format, precision, 3 - top - precision, top)


def nearest(value: Fraction | int, kind: np.dtype[Any], negative_zero: bool = False) -> int:
    """The bit pattern of the number nearest to an exact real, ties to even.

    Args:
        value: the real, a fraction or a whole number.
        kind: a floating-point type.
        negative_zero: the sign of the result where the real is 0.  A real that is rounded to 0 gives its own sign.
    """
    return nearest_ratio(value.numerator, value.denominator, kind, negative_zero)


def nearest_ratio(numerator: int, denominator: int, kind: np.dtype[Any], negative_zero: bool = False) -> int:
    """The bit pattern of the number nearest to numerator / denominator, the denominator positive; see `nearest`."""
    grid = grid_of(kind)
    sign = grid.number_format.sign if numerator < 0 or (numerator == 0 and negative_zero) else 0
    n, d = abs(numerator), denominator
    if n == 0:
        return sign
    length = n.bit_length() - d.bit_length()  # 2^(length-1) < n/d < 2^(length+1)
    if (n >= d << length) if length >= 0 else (n << -length >= d):
        length += 1  # now 2^(length-1) <= n/d < 2^length
    unit = max(length - grid.precision, grid.least)
    if unit >= 0:
        d <<= unit
    else:
        n <<= -unit
    significand, rest = divmod(n, d)
    significand += 2 * rest > d or (2 * rest == d and significand % 2 == 1)
    return sign | min((unit - grid.least << grid.precision - 1) + significand, grid.number_format.infinity)


def pattern_is_nan(pattern: int, kind: np.dtype[Any]) -> bool:
    """Whether a pattern is a NaN."""
    number_format = grid_of(kind).number_format
    return pattern & (number_format.sign - 1) > number_format.infinity


def pattern_is_infinite(pattern: int, kind: np.dtype[Any]) -> bool:
    """Whether a pattern is an infinity of either sign."""
    number_format = grid_of(kind).number_format
    return pattern & (number_format.sign - 1) == number_format.infinity


def pattern_is_negative(pattern: int, kind: np.dtype[Any]) -> bool:
    """Whether the sign is set, also that of a zero or NaN."""
    return pattern >= grid_of(kind).number_format.sign


def nan_of(kind: np.dtype[Any]) -> int:
    """The pattern of the NaN an operation makes: quiet, positive, no payload."""
    grid = grid_of(kind)
    return grid.number_format.infinity | 1 << grid.precision - 2


def significand_and_exponent(pattern: int, kind: np.dtype[Any]) -> tuple[int, int]:
    """A finite number as (significand, exponent), exactly significand * 2^exponent; both zeros are (0, least)."""
    grid = grid_of(kind)
    magnitude = pattern & (grid.number_format.sign - 1)
    field, fraction = magnitude >> grid.precision - 1, magnitude & (1 << grid.precision - 1) - 1
    significand = fraction | 1 << grid.precision - 1 if field else fraction
    return (-significand if pattern_is_negative(pattern, kind) else significand), grid.least + max(field - 1, 0)


def real(pattern: int, kind: np.dtype[Any]) -> Fraction:
    """The exact value of a finite number."""
    significand, exponent = significand_and_exponent(pattern, kind)
    return Fraction(significand << exponent) if exponent >= 0 else Fraction(significand, 1 << -exponent)


def narrow(values: Array, kind: np.dtype[Any]) -> Array:
    """Elements of float64, each rounded once to nearest even into a type that is not wider; a NaN stays a NaN.

    numpy converts float64 to float32 and float16 in one rounding.  bfloat16 is reached
    through a float32 that is rounded to odd: truncated, its last bit set where something was lost.  With 24 digits, two
    more than twice 8, the second rounding then is that of the exact value (Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums", 2008, theorem 3).
    """
    if kind.itemsize > 2 or kind == np.float16:
        return values.astype(kind)
    single = values.astype(np.float32)
    bits = single.view(np.uint32)
    with np.errstate(all="ignore"):
        off = single.astype(np.float64)
        away = np.abs(off) > np.abs(values)
        inexact = (off != values) & (values == values)
    bits -= away  # back to the truncated one, for an infinity to the largest number
    bits |= inexact
    return halved(single)


def halved(single: Array) -> Array:
    """Elements of float32 rounded once to bfloat16: the upper half of the pattern, after adding what rounds to even."""
    bits = single.view(np.uint32)
    upper = bits >> np.uint32(16)
    rounded = (bits + (np.uint32(0x7FFF) + (upper & np.uint32(1)))) >> np.uint32(16)
    nan = bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000)
    result = np.where(nan, upper | np.uint32(0x40), rounded).astype(np.uint16)
    return result.view(ELEMENTS["bfloat16"])


def to_nearest(values: Array, kind: np.dtype[Any]) -> Array:
    """float64 values, each rounded once to nearest even; every NaN becomes `nan_of` the type."""
    with np.errstate(all="ignore"):
        array = narrow(values, kind)
    nan = np.isnan(values)
    if nan.any():
        array.view(grid_of(kind).number_format.unsigned)[nan] = nan_of(kind)
    return array


def canonicalize_nans(out: Array) -> None:
    """Every NaN becomes `nan_of` the type: processors differ in the NaN they make."""
    if has_nan(out):
        out.view(grid_of(out.dtype).number_format.unsigned)[np.isnan(out)] = nan_of(out.dtype)


def has_nan(values: Array) -> bool:
    """Whether an element is a NaN; the maximum of floats and doubles, which tells it, takes one pass."""
    if values.itemsize < 4 or not values.size:
        return bool(np.isnan(values).any())
    return bool(np.isnan(np.maximum.reduce(values, axis=None)))
