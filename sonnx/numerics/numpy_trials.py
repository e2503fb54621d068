"""Trials of what numpy does but does not promise, once in each process; where one fails a kernel takes another path.

np.maximum promises a NaN where an operand is one, not which.  np.argmax promises the first of equal elements, not the
first NaN.  Sums, products, quotients and roots must be rounded as IEEE 754 says.  All must also tell subnormal numbers
from zero, which a library that switches the processor to flush them (-ffast-math) would spoil.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from sonnx.numerics.formats import Array, format_of, larger, order_key, patterns
from sonnx.numerics.rounding import grid_of, nearest, real


def specials(kind: np.dtype[Any]) -> Array:
    """Every class of a floating-point type with both signs: zeros, subnormals, ones, largest, infinities, four NaNs."""
    number_format = format_of(kind)
    assert number_format is not None  # noqa: S101  asked for floating-point types only
    one = int(np.ones(1, kind).view(number_format.unsigned)[0])
    quiet = number_format.infinity | (number_format.infinity >> 1) & ~number_format.infinity
    positive = [
        0,
        1,
        2,
        one,
        number_format.infinity - 1,
        number_format.infinity,
        number_format.infinity + 1,
        quiet | number_format.infinity,
        number_format.sign - 1,
    ]
    return np.array(positive + [number_format.sign + number for number in positive], number_format.unsigned).view(kind)


@cache
def maximum_keeps_the_first_nan(kind: np.dtype[Any]) -> bool:
    """Whether np.maximum gives one of its operands, of NaNs the first, and is wrong about the sign of zeros at most."""
    number_format = format_of(kind)
    assert number_format is not None  # noqa: S101
    few = specials(kind)
    x, y = (np.ascontiguousarray(array).reshape(-1) for array in np.meshgrid(few, few, indexing="ij"))
    of_two = larger(kind)
    pairs = zip(x.view(number_format.unsigned).tolist(), y.view(number_format.unsigned).tolist(), strict=True)
    expected = np.array([of_two(*pair) for pair in pairs], number_format.unsigned)
    for step in (1, 2, -1):
        for start in range(4):
            with np.errstate(all="ignore"):
                computed = np.maximum(x[start::step], y[start::step]).view(number_format.unsigned)
            right = expected[start::step]
            zero_signs = (computed | number_format.sign == number_format.sign) & (
                right | number_format.sign == number_format.sign
            )
            if not np.all((computed == right) | zero_signs):
                return False
    return True


@cache
def argmax_finds_the_first_nan(kind: np.dtype[Any]) -> bool:
    """Whether np.argmax gives the first NaN, else the first largest element, both zeros being equal."""
    few, key = specials(kind), order_key(kind)
    with np.errstate(all="ignore"):
        rows = (np.roll(few, shift)[cut:] for shift in range(len(few)) for cut in (0, 7, 12))
        return all(_agrees(row, key) for row in rows)


def _agrees(row: Array, key: Callable[[int], int]) -> bool:
    number_format = format_of(row.dtype)
    assert number_format is not None  # noqa: S101
    places = [max(key(pattern), -2) + (key(pattern) == -1) for pattern in row.view(number_format.unsigned).tolist()]
    if max(places) == -2:
        return True
    long = np.concatenate([np.full(61, -np.inf).astype(row.dtype), row])
    return int(np.argmax(row)) == places.index(max(places)) == int(np.argmax(long)) - 61


@cache
def arithmetic_is_ieee(kind: np.dtype[Any]) -> bool:
    """Whether numpy adds, subtracts, multiplies, divides and takes roots with one rounding to nearest even.

    Tried on every pair of special values and of a few numbers whose results are ties, nearly ties, subnormal or
    overflow; against exact fractions.
    """
    few = np.concatenate([specials(kind), np.array([1 / 3, 3, 1.5, 2.5, -7, 11, 1e-3], np.float64).astype(kind)])
    x, y = (np.ascontiguousarray(array).reshape(-1) for array in np.meshgrid(few, few, indexing="ij"))
    with np.errstate(all="ignore"):
        for operation in (np.add, np.subtract, np.multiply, np.divide):
            if not _all_nearest(operation, operation(x, y), x, y):
                return False
        roots = np.sqrt(few)
        return bool(np.all(_roots_are_nearest(few, roots)))


def _all_nearest(operation: Any, computed: Array, x: Array, y: Array) -> bool:
    kind = computed.dtype
    exact = {np.add: add, np.subtract: sub, np.multiply: mul, np.divide: truediv}[operation]
    finite = np.isfinite(x) & np.isfinite(y) & ((y != 0) | (operation is not np.divide))
    for a, b, c in zip(patterns(x)[finite], patterns(y)[finite], patterns(computed)[finite], strict=True):
        value = exact(real(int(a), kind), real(int(b), kind))
        negative = bool(c >= (1 << 8 * kind.itemsize - 1)) if value == 0 else False
        if nearest(value, kind, negative_zero=negative) != int(c):
            return False
    return True


def _roots_are_nearest(x: Array, root: Array) -> list[bool]:
    """Whether each root r of a positive number lies within half a step: (r - s)^2 < x < (r + s)^2, exactly."""
    results, number_format = [], grid_of(x.dtype).number_format
    for a, r in zip(patterns(x).tolist(), patterns(root).tolist(), strict=True):
        if 0 < a < number_format.infinity:
            low, here, high = (real(part, x.dtype) for part in (r - 1, r, r + 1))
            results.append(((low + here) / 2) ** 2 <= real(a, x.dtype) <= ((here + high) / 2) ** 2)
    return results
