"""Sums of products, exactly, and rounded once at the end.

Every finite number of a format is a whole multiple of 2^least, so every product of two is one of 2^(2 least): a sum of
products is a sum of whole numbers, in whatever order.  A `Number` is such a whole number, never 0, in a unit the caller
knows; 0.0, -0.0, inf, -inf and nan stand for themselves as Python floats.

Special values are those of IEEE 754-2019, section 6: 0 * inf and inf - inf are NaN, a NaN makes everything NaN.  A sum
that is exactly 0 is +0, unless all its addends are -0; a sum of no addend is +0.

`special_sums` gives the elements of a matrix product among whose factors is an infinity or a NaN: which of NaN, +inf
and -inf, by counting.  No library promises whether it multiplies 0 by an infinity or leaves it out, so BLAS multiplies
matrices of 0 and 1 only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sonnx.numerics.formats import Array, format_of, patterns
from sonnx.numerics.rounding import (
    grid_of,
    nan_of,
    nearest_ratio,
    pattern_is_infinite,
    pattern_is_nan,
    pattern_is_negative,
    significand_and_exponent,
)

Number: TypeAlias = Fraction | int | float


def number(pattern: int, kind: np.dtype[Any]) -> Number:
    """The number with these bits, in units of 2^least of its format."""
    if pattern_is_nan(pattern, kind):
        return math.nan
    sign = -1.0 if pattern_is_negative(pattern, kind) else 1.0
    if pattern_is_infinite(pattern, kind):
        return sign * math.inf
    significand, exponent = significand_and_exponent(pattern, kind)
    return significand << exponent - grid_of(kind).least if significand else sign * 0.0


def numbers(values: Array) -> list[Number]:
    """The elements in row-major order: of floating-point types in units of 2^least, integers as they are."""
    if format_of(values.dtype) is None:
        return [int(value) for value in values.flat]
    return [number(int(pattern), values.dtype) for pattern in patterns(values).flat]


def exact_element(values: Array, index: tuple[int, ...]) -> Number:
    """An element as it is, in units of 1."""
    x = number(int(patterns(values)[index]), values.dtype)
    return x if isinstance(x, float) else x * Fraction(2) ** grid_of(values.dtype).least


def times(x: Number, y: Number) -> Number:
    """The product; its unit is the product of the units."""
    if not isinstance(x, float) and not isinstance(y, float):
        return x * y
    return _special(x) * _special(y)


def over(x: Number, y: Number) -> Number:
    """The quotient; a number other than 0 over a zero is an infinity."""
    if not isinstance(x, float) and not isinstance(y, float):
        return Fraction(x) / y
    if y == 0:
        return _special(x) * math.copysign(math.inf, y) if x else math.nan
    return _special(x) / _special(y)


def _special(x: Number) -> float:
    """A number with the same sign and the same special value; of ordinary ones 1 stands for all."""
    return x if isinstance(x, float) else 1.0 if x > 0 else -1.0


def total(addends: Iterable[Number]) -> Number:
    """The exact sum of numbers in one unit."""
    fractions, specials, negative_zeros, count = Fraction(0), 0.0, 0, 0
    integers: int = 0
    for x in addends:
        count += 1
        if isinstance(x, int):
            integers += x
        elif isinstance(x, Fraction):
            fractions += x
        else:
            specials += x
            negative_zeros += x == 0 and math.copysign(1, x) < 0
    if not math.isfinite(specials):
        return specials
    return fractions + integers if fractions else integers or (-0.0 if 0 < count == negative_zeros else 0.0)


def rounded(x: Number, exponent: int, kind: np.dtype[Any], divisor: int = 1) -> int:
    """The bits of x * 2^exponent / divisor rounded to nearest even, the divisor positive."""
    if not isinstance(x, float):
        unit = x * Fraction(2) ** exponent / divisor
        return nearest_ratio(unit.numerator, unit.denominator, kind)
    number_format = grid_of(kind).number_format
    if math.isnan(x):
        return nan_of(kind)
    return (number_format.sign if math.copysign(1, x) < 0 else 0) + (number_format.infinity if x else 0)


def wrapped(x: int, kind: np.dtype[Any]) -> int:
    """The integer of the type that is congruent to x modulo 2 to the number of its bits."""
    low = int(np.iinfo(kind).min)
    return (x - low) % (1 << 8 * kind.itemsize) + low


def store(out: Array, index: tuple[int, ...], value: Number, power: int = 1, divisor: int = 1) -> None:
    """Put a sum into an element of the output: integers wrapped, others rounded once.

    Args:
        out: the output; its type is that of the factors.
        index: which element.
        value: the sum, in units of 2^(power * least).
        power: how many elements are multiplied in each addend.
        divisor: what the sum is divided by before it is rounded; of integers always 1.
    """
    if format_of(out.dtype) is None:
        out[index] = wrapped(int(value), out.dtype)
    else:
        patterns(out)[index] = rounded(value, power * grid_of(out.dtype).least, out.dtype, divisor)


def products(x: Sequence[Number], y: Sequence[Number]) -> Iterator[Number]:
    """The products of elements at the same place."""
    return (times(*pair) for pair in zip(x, y, strict=True))


def in_units_of_products(x: Number, kind: np.dtype[Any]) -> Number:
    """A number in units of 2^least, now in those of 2^(2 least), to be added to products; integers as they are."""
    if isinstance(x, float) or format_of(kind) is None:
        return x
    return x * (1 << -grid_of(kind).least)


def special_sums(A: Array, B: Array, kind: np.dtype[Any]) -> Array:
    """The elements of A B, each of which has an infinity or a NaN among its factors, in the type.

    NaN, 0 * inf and inf - inf make NaN; else the sum is the infinity that occurs.
    """
    nan: Array = np.logical_or.outer(np.isnan(A).any(axis=1), np.isnan(B).any(axis=0))
    inf_a, inf_b = np.isinf(A), np.isinf(B)
    of_a, of_b = inf_a.any(axis=0), inf_b.any(axis=1)
    infinite = inf_a.sum(axis=1)[:, None] + inf_b.sum(axis=0)  # products with an infinite factor, of each element
    rows, columns = _signs(A), _signs(B)
    left = np.concatenate([np.where(inf_a[:, of_a], rows[:, of_a], 0), rows[:, of_b]], axis=1)
    right = np.concatenate([columns[of_a], np.where(inf_b[of_b], columns[of_b], 0)], axis=0)
    balance, infinities = left @ right, np.abs(left) @ np.abs(right)  # rising less falling ones, and both
    result = np.where(balance + infinities > 0, np.inf, -np.inf).astype(kind)
    undefined = nan | (infinities < infinite) | (np.abs(balance) < infinities)  # 0 * inf, or inf - inf
    result.view(grid_of(kind).number_format.unsigned)[undefined] = nan_of(kind)
    return result


EXACT_COUNTS = 1 << 23
"""Up to so many, twice as many ones are added exactly in float32."""


def _signs(values: Array) -> Array:
    """The signs of the elements, 0 of a NaN: -1, 0 and 1, of a type in which BLAS counts exactly."""
    kind = np.float32 if max(values.shape) < EXACT_COUNTS else np.float64
    signs: Array = np.subtract(values > 0, values < 0, dtype=kind)
    return signs
