"""What numpy does and does not promise, tried once in each process; a kernel that gets a no takes its integer path.

np.maximum promises a NaN where an operand is one, not which.  np.argmax promises the first of equal elements, not the
first NaN.  Both must also tell subnormal numbers from zero, which a library that switches the processor to flush them
(-ffast-math) would spoil.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from sonnx.semantics.formats import Array, format_of, larger, place


def specials(kind: np.dtype[Any]) -> Array:
    """Every class of a floating-point type with both signs: zeros, subnormals, ones, largest, infinities, four NaNs."""
    made = format_of(kind)
    assert made is not None  # noqa: S101  asked for floating-point types only
    one = int(np.ones(1, kind).view(made.unsigned)[0])
    quiet = made.infinity | (made.infinity >> 1) & ~made.infinity
    positive = [0, 1, 2, one, made.infinity - 1, made.infinity, made.infinity + 1, quiet | made.infinity, made.sign - 1]
    return np.array(positive + [made.sign + each for each in positive], made.unsigned).view(kind)


@cache
def maximum_keeps_the_first_nan(kind: np.dtype[Any]) -> bool:
    """Whether np.maximum gives one of its operands, of NaNs the first, and is wrong about the sign of zeros at most."""
    made = format_of(kind)
    assert made is not None  # noqa: S101
    few = specials(kind)
    x, y = (np.ascontiguousarray(each).reshape(-1) for each in np.meshgrid(few, few, indexing="ij"))
    of_two = larger(kind)
    pairs = zip(x.view(made.unsigned).tolist(), y.view(made.unsigned).tolist(), strict=True)
    wanted = np.array([of_two(*pair) for pair in pairs], made.unsigned)
    for step in (1, 2, -1):
        for start in range(4):
            with np.errstate(all="ignore"):
                found = np.maximum(x[start::step], y[start::step]).view(made.unsigned)
            want = wanted[start::step]
            zero_signs = (found | made.sign == made.sign) & (want | made.sign == made.sign)
            if not np.all((found == want) | zero_signs):
                return False
    return True


@cache
def argmax_finds_the_first_nan(kind: np.dtype[Any]) -> bool:
    """Whether np.argmax gives the first NaN, else the first largest element, both zeros being equal."""
    few, key = specials(kind), place(kind)
    with np.errstate(all="ignore"):
        rows = (np.roll(few, shift)[cut:] for shift in range(len(few)) for cut in (0, 7, 12))
        return all(_agrees(row, key) for row in rows)


def _agrees(row: Array, key: Callable[[int], int]) -> bool:
    made = format_of(row.dtype)
    assert made is not None  # noqa: S101
    places = [max(key(pattern), -2) + (key(pattern) == -1) for pattern in row.view(made.unsigned).tolist()]
    if max(places) == -2:
        return True
    long = np.concatenate([np.full(61, -np.inf).astype(row.dtype), row])
    return int(np.argmax(row)) == places.index(max(places)) == int(np.argmax(long)) - 61
