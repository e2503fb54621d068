"""The special values of each element type, by permanent names, and values next to the boundaries of conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sonnx.numerics import small_floats
from sonnx.numerics.draws import least_normal
from sonnx.numerics.formats import (
    ELEMENTS,
    NAMES,
    TEXT,
    Array,
    Format,
    format_of,
    is_small_float,
    limits_of,
    patterns,
)

NAN, PLUS_INFINITY, MINUS_INFINITY, PLUS_ZERO, MINUS_ZERO = "nan", "+inf", "-inf", "+0", "-0"
HUGE = ("+largest", "-largest")
"""Finite floating-point numbers so large that an intermediate result may overflow."""


@dataclass(frozen=True, slots=True)
class NamedValues:
    """Elements of one type, with their names."""

    names: tuple[str, ...]
    values: Array

    def __getitem__(self, name: str) -> Array:
        """One element, of shape []."""
        at = self.names.index(name)
        return np.array(self.values[at : at + 1]).reshape(())

    def __contains__(self, name: str) -> bool:
        """Whether the type has the value."""
        return name in self.names

    def without(self, names: Sequence[str]) -> NamedValues:
        """The others."""
        kept = [index for index, name in enumerate(self.names) if name not in names]
        return NamedValues(tuple(self.names[index] for index in kept), self.values[kept])


@cache
def special_values(kind: np.dtype[np.generic]) -> NamedValues:
    """The special values of a type, those where implementations err most often first.

    Floating point: NaN, infinities, zeros, largest, least and largest subnormal, least normal, ones and their
    neighbours.  Integers: least, greatest, 0, 1, -1, and the neighbours of the ends.  Types of at most eight bits that
    are floating point: all patterns that are one of these.  Complex: pairs of few parts.
    """
    if kind == TEXT:
        return _named({"empty": "", "space": " ", "newline": "\n", "quote": '"', "nul": "\0", "accent": "é",
                       "astral": "\U0001f600"}, kind)  # fmt: skip
    if kind == np.bool_:
        return _named({"false": False, "true": True}, kind)
    if kind.kind == "c":
        return _complex(kind)
    if is_small_float(kind):
        return _of_small_floats(kind)
    number_format = format_of(kind)
    if number_format is not None:
        return _of_format(kind, number_format)
    least, greatest = limits_of(kind)
    named = {"least": least, "greatest": greatest, "0": 0, "1": 1, "-1": -1, "least+1": least + 1,
             "greatest-1": greatest - 1}  # fmt: skip
    return _named({name: value for name, value in named.items() if least <= value <= greatest}, kind)


def _named(named: dict[str, object], kind: np.dtype[np.generic]) -> NamedValues:
    values = np.empty(len(named), kind)
    values[:] = [*named.values()]
    return NamedValues(tuple(named), values)


def _of_format(kind: np.dtype[np.generic], number_format: Format) -> NamedValues:
    normal, one = least_normal(number_format), int(patterns(np.ones(1, kind))[0])
    magnitudes = {"inf": number_format.infinity, "0": 0, "largest": number_format.infinity - 1, "least subnormal": 1,
                  "largest subnormal": normal - 1, "least normal": normal, "1": one, "below 1": one - 1,
                  "above 1": one + 1}  # fmt: skip
    named = {NAN: number_format.infinity | normal >> 1}
    for name, magnitude in magnitudes.items():
        named |= {f"+{name}": magnitude, f"-{name}": number_format.sign | magnitude}
    return NamedValues(tuple(named), np.array([*named.values()], number_format.unsigned).view(kind))


def _of_small_floats(kind: np.dtype[np.generic]) -> NamedValues:
    """NaN, infinities, zeros, least and largest, as far as the type has them."""
    numbers = np.array(small_floats.numbers(NAMES[kind]))
    finite = np.abs(numbers[np.isfinite(numbers)])
    largest, least = float(finite.max()), float(finite[finite > 0].min())
    numbers_by_name = {
        PLUS_INFINITY: np.inf, MINUS_INFINITY: -np.inf, PLUS_ZERO: 0.0, MINUS_ZERO: -0.0, "+largest": largest,
        "-largest": -largest, "+least": least, "-least": -least, "+1": 1.0, "-1": -1.0,
    }  # fmt: skip
    named = {NAN: int(np.argmax(np.isnan(numbers)))} if np.isnan(numbers).any() else {}
    for name, value in numbers_by_name.items():
        places = np.flatnonzero((numbers == value) & (np.signbit(numbers) == np.signbit(value)))
        if places.size:
            named[name] = int(places[0])
    return NamedValues(tuple(named), np.array([*named.values()], np.uint8).view(kind))


def _complex(kind: np.dtype[np.generic]) -> NamedValues:
    parts = special_values(np.dtype(f"f{kind.itemsize // 2}"))
    few = [name for name in (NAN, PLUS_INFINITY, MINUS_INFINITY, MINUS_ZERO, "+largest", "+1") if name in parts]
    pairs = {f"{real} {imaginary}i": (parts[real], parts[imaginary]) for real in few for imaginary in few}
    values = np.array([[*pair] for pair in pairs.values()]).view(kind).reshape(-1)
    return NamedValues(tuple(pairs), values)


@cache
def boundary_values(kind: np.dtype[np.generic]) -> Array:
    """Values next to where a conversion rounds or saturates: finite, all different, without those of `HUGE`.

    Floating point: whole numbers and halves with both neighbours, the limits of every integer type, the largest number
    and the middle beyond it of every narrower format, and half of its least number.  Integers: the limits of every
    narrower type, and whole numbers that a float or a double rounds.
    """
    number_format = format_of(kind)
    if number_format is None:
        if kind == TEXT or kind == np.bool_ or kind.kind == "c" or is_small_float(kind):
            return np.empty(0, kind)
        least, greatest = limits_of(kind)
        wholes = dict.fromkeys(number for limit in _limits() for number in (limit - 1, limit, limit + 1))
        return np.array([whole for whole in wholes if least <= whole <= greatest], kind)
    middles = [whole / 2 for whole in range(-5, 6)]
    with np.errstate(all="ignore"):
        centres = np.array([*middles, *map(float, _limits()), *_conversion_limits(kind)]).astype(kind)
        around = [np.nextafter(centres, centres.dtype.type(end)) for end in (-np.inf, np.inf)]
    bits = patterns(np.concatenate([centres, *around]))
    magnitude = bits & number_format.unsigned.type(number_format.sign - 1)
    usual = (magnitude < number_format.infinity - 1) & ((magnitude >= least_normal(number_format)) | (bits == 0))
    kept: Array = np.array([*dict.fromkeys(bits[usual].tolist())], number_format.unsigned).view(kind)
    return kept


def _limits() -> Iterator[int]:
    """The limits of the integer types, and the first whole numbers that a float or double does not have."""
    for bits in (4, 8, 16, 32, 64):
        yield from (-(1 << bits - 1), (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, 1 << bits)
    for digits in (8, 11, 24, 53):
        yield from ((1 << digits) + 1, -(1 << digits) - 1)


def _conversion_limits(kind: np.dtype[np.generic]) -> Iterator[float]:
    """Where a conversion into a narrower floating-point type overflows, and where it becomes 0."""
    for name in ("float16", "bfloat16", "float"):
        narrow = ELEMENTS[name]
        number_format = format_of(narrow)
        if number_format is None or narrow.itemsize >= kind.itemsize:
            continue
        ends = (
            np.array([number_format.infinity - 1, number_format.infinity - 2, 1], number_format.unsigned)
            .view(narrow)
            .astype(np.float64)
        )
        largest, below, least = ends.tolist()
        for sign in (1.0, -1.0):
            yield from (sign * largest, sign * (largest + (largest - below) / 2), sign * least, sign * least / 2)
            yield sign * (1 + (largest - below) / largest / 2)
