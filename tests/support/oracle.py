"""An oracle of Max, ReduceMax and ArgMax by other means: exact fractions and lists, no code of the package.

A floating-point element is decoded from its bits to NaN, an infinity, or an exact fraction with the sign of its zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import ml_dtypes
import numpy

Array: TypeAlias = numpy.ndarray[Any, Any]

FLOATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}  # exponent, significand bits
KINDS: dict[str, numpy.dtype[Any]] = {name: numpy.dtype(name) for name in ("float16", "float32", "float64")} | {
    "bfloat16": numpy.dtype(ml_dtypes.bfloat16)
}
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
KINDS |= {name: numpy.dtype(name) for name in [*INTEGERS, "bool"]}


def scaled(number: int, exponent: int) -> Fraction:
    """number * 2^exponent."""
    return Fraction(number << exponent) if exponent >= 0 else Fraction(number, 1 << -exponent)


def units(name: str, pattern: int) -> tuple[int, int] | float:
    """The sign and the multiple of the least positive number; infinities and NaN as Python floats."""
    exponent_bits, significand_bits = FLOATS[name]
    significand = pattern % 2**significand_bits
    exponent = pattern >> significand_bits & 2**exponent_bits - 1
    sign = -1 if pattern >> exponent_bits + significand_bits else 1
    if exponent == 2**exponent_bits - 1:
        return math.nan if significand else sign * math.inf
    return sign, (significand + 2**significand_bits) << exponent - 1 if exponent else significand


def number(name: str, pattern: int) -> Fraction | float:
    """The element with these bits: a fraction, or a Python float for zeros, infinities and NaN."""
    found = units(name, pattern)
    if isinstance(found, float):
        return found
    sign, multiple = found
    exponent_bits, significand_bits = FLOATS[name]
    return scaled(sign * multiple, 2 - 2 ** (exponent_bits - 1) - significand_bits) if multiple else sign * 0.0


@cache
def rank(name: str, pattern: int, equal_zeros: bool = False) -> tuple[int, ...]:
    """A tuple that compares like the element with these bits."""
    found = units(name, pattern) if name in FLOATS else (1, pattern)
    if isinstance(found, float):
        return (2,) if math.isnan(found) else (1 if found > 0 else -1,)
    sign, multiple = found
    return (0, sign * multiple, 0 if equal_zeros or multiple or sign > 0 else -1)


def bits(array: Array) -> Array:
    """The array as unsigned integers; integers as they are."""
    return array.view(f"u{array.itemsize}") if array.dtype.kind in "fV" else array


def name_of(array: Array) -> str:
    """The name of its type."""
    return next(name for name, kind in KINDS.items() if kind == array.dtype)


def from_bits(name: str, patterns: Sequence[int], shape: Sequence[int]) -> Array:
    """An array of a type from bit patterns (integers: from values)."""
    kind = KINDS[name]
    whole = numpy.array(patterns, f"u{kind.itemsize}" if name in FLOATS else kind).reshape(shape)
    return whole.view(kind)


def best(name: str, patterns: Sequence[int], equal_zeros: bool = False) -> int:
    """The first of the largest."""
    return max(patterns, key=lambda pattern: rank(name, pattern, equal_zeros))  # max gives the first


def maximum(X: Sequence[Array]) -> Array:
    """Max."""
    shape = numpy.broadcast_shapes(*[x.shape for x in X])
    Z = [bits(numpy.broadcast_to(x, shape)).ravel().tolist() for x in X]
    return from_bits(name_of(X[0]), [best(name_of(X[0]), zs) for zs in zip(*Z, strict=True)], shape)


def slices(x: Array, axes: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """For each index of the other axes the elements along the axes, row-major; and the shape of the others."""
    kept = [d for d in range(x.ndim) if d not in axes]
    found: dict[tuple[int, ...], list[int]] = {k: [] for k in product(*[range(x.shape[d]) for d in kept])}
    for index in product(*map(range, x.shape)):
        found[tuple(index[d] for d in kept)].append(bits(x)[index].item())
    return list(found.values()), [x.shape[d] for d in kept]


def reduce_max(x: Array, axes: Sequence[int]) -> Array:
    """ReduceMax without the axes."""
    rows, shape = slices(x, axes)
    return from_bits(name_of(x), [best(name_of(x), row) for row in rows], shape)


def arg_max(x: Array, axis: int, last: bool, equal_zeros: bool) -> Array:
    """ArgMax without the axis."""
    rows, shape = slices(x, [axis])
    found = []
    for row in rows:
        ranks = [rank(name_of(x), pattern, equal_zeros) for pattern in row]
        places = [j for j, each in enumerate(ranks) if each == max(ranks)]
        found.append(places[-1 if last else 0])
    return numpy.array(found, numpy.int64).reshape(shape)


def same(a: Array, b: Array) -> bool:
    """Whether type, shape and all bits are equal."""
    return a.dtype == b.dtype and a.shape == b.shape and numpy.array_equal(bits(a), bits(b))


def special_patterns(name: str) -> list[int]:
    """Zeros, subnormals, ones, largest, infinities, quiet and signalling NaNs, with both signs."""
    exponent_bits, significand_bits = FLOATS[name]
    infinity = (2**exponent_bits - 1) << significand_bits
    one = (2 ** (exponent_bits - 1) - 1) << significand_bits
    quiet = infinity | 1 << significand_bits - 1
    sign = 1 << exponent_bits + significand_bits
    some = [0, 1, (1 << significand_bits) - 1, 1 << significand_bits, one, one + 1, infinity - 1, infinity]
    some += [infinity + 1, quiet, quiet | 5, sign - 1]
    return some + [sign | each for each in some]
