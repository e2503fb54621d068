"""Drawn elements of every type: ordinary numbers, ties and random bit patterns.

The same seed gives the same elements on every machine and with every version of numpy: only the raw stream of its PCG64
generator is used, whose numbers numpy promises to keep (NEP 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.numerics import small_floats
from sonnx.numerics.formats import (
    NAMES,
    TEXT,
    Array,
    Format,
    bits_of,
    format_of,
    is_small_float,
    limits_of,
    patterns,
    widened,
)

ORDINARY, TIES, PATTERNS = "ordinary", "ties", "patterns"
KINDS = (ORDINARY, TIES, PATTERNS)
"""Numbers of [-1, 1); small multiples of one half, which make ties; and random bit patterns, which are numbers of every
magnitude, NaN and infinities.  The first two are ordinary."""


def is_ordinary(values: Array) -> bool:
    """Whether every element is ordinary.

    An ordinary floating-point number is finite, is not the largest one of its type or its negative, is not subnormal,
    and is not -0.  Every integer, bool and string is ordinary.
    """
    if values.dtype.kind == "c":
        return is_ordinary(values.real) and is_ordinary(values.imag)
    if is_small_float(values.dtype):
        wide = widened(values)
        return bool((np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))).all())
    number_format = format_of(values.dtype)
    if number_format is None:
        return True
    array = patterns(np.ascontiguousarray(values))
    magnitude = array & array.dtype.type(number_format.sign - 1)
    normal = (magnitude >= least_normal(number_format)) & (magnitude < number_format.infinity - 1)
    return bool((normal | (array == 0)).all())


def least_normal(number_format: Format) -> int:
    """The pattern of the least positive normal number: the lowest bit of the exponent."""
    return number_format.infinity & -number_format.infinity


def draw(kind: np.dtype[np.generic], shape: Sequence[int], which: str, seeds: Sequence[int]) -> Array:
    """Elements of a type, of one of `KINDS`."""
    stream = np.random.PCG64([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds])
    raw = np.asarray(stream.random_raw(prod(shape)), np.uint64).reshape(-1)
    return _of_kind(raw, kind, which).reshape(shape)


def _of_kind(raw: Array, kind: np.dtype[np.generic], which: str) -> Array:
    number_format = format_of(kind)
    if kind == TEXT:
        return _strings(raw, which)
    if kind.kind == "c":
        part = np.dtype(f"f{kind.itemsize // 2}")
        parts = (_of_kind(array, part, which) for array in (raw, raw[::-1]))
        return np.stack([*parts], -1).view(kind).reshape(raw.shape)
    if is_small_float(kind):
        return _small_floats(raw, kind, which)
    if number_format is None:
        return _integers(raw, kind, which)
    if which == PATTERNS:
        return raw.astype(number_format.unsigned).view(kind)
    if which == TIES:
        return (((raw % np.uint64(17)).astype(np.int64) - 8) / 2).astype(kind)
    plain = ((raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0).astype(kind)
    magnitude = patterns(plain) & number_format.unsigned.type(number_format.sign - 1)
    plain[(magnitude < least_normal(number_format)) & (patterns(plain) != 0)] = (
        1  # it was rounded to -0 or a subnormal number
    )
    return plain


def _strings(raw: Array, which: str) -> Array:
    """Short words."""
    return np.array([f"w{number % 17 if which == TIES else number:x}" for number in raw.tolist()], TEXT)


def _small_floats(raw: Array, kind: np.dtype[np.generic], which: str) -> Array:
    """Patterns of the type: all of them, or those of numbers of at most 1, or 8 for ties, without -0."""
    numbers = np.array(small_floats.numbers(NAMES[kind]))
    every = np.arange(numbers.size, dtype=np.uint8)
    usual = (np.abs(numbers) <= (8 if which == TIES else 1)) & ~((numbers == 0) & np.signbit(numbers))
    chosen = every if which == PATTERNS else every[usual]
    return chosen[raw % np.uint64(chosen.size)].view(kind)


def _integers(raw: Array, kind: np.dtype[np.generic], which: str) -> Array:
    if kind == np.bool_:
        return (raw & np.uint64(1)).astype(np.bool_)
    least, greatest = limits_of(kind)
    if which == PATTERNS:
        return (raw & np.uint64((1 << bits_of(kind)) - 1)).astype(f"u{kind.itemsize}").view(kind)
    small = (raw % np.uint64(17)).astype(np.int64) - (0 if least == 0 else 8)
    if bits_of(kind) < 8:
        small %= greatest + 1
    return small.astype(kind)
