"""The floating-point types of at most eight bits: their numbers, and a real rounded into one of them.

ONNX, Cast-19 to Cast-28, and the technical pages "Float stored in 4, 6 and 8 bits" of its documentation, which
restrictions/technical_pages.toml pins.  A pattern is a sign, an exponent and a fraction; float8e8m0 is an exponent
alone, and has neither a sign nor a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import copysign, inf, isfinite, isnan, nan
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.formats import NAMES, Array

Real: TypeAlias = "int | float | Fraction"
"""A number without rounding; as a float also NaN, an infinity or -0."""


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """The layout of a type: bits of exponent and fraction, the bias, and which patterns are not finite numbers.

    `negative_zero`: whether the sign of a zero is kept; where it is not, the pattern of -0 is NaN.
    `of_nan`: of a type without NaN the pattern that a NaN becomes; None for the greatest number.
    """

    exponent: int
    fraction: int
    bias: int
    infinity: int | None = None
    nans: tuple[int, ...] = ()
    negative_zero: bool = True
    of_nan: int | None = None

    @property
    def sign(self) -> int:
        """The pattern of the sign bit."""
        return 1 << self.exponent + self.fraction


SMALL_FLOATS = {
    "float4e2m1": SmallFloat(2, 1, 1),
    "float6e2m3": SmallFloat(2, 3, 1, of_nan=0x20),
    "float6e3m2": SmallFloat(3, 2, 3, of_nan=0x20),
    "float8e4m3fn": SmallFloat(4, 3, 7, nans=(0x7F, 0xFF)),
    "float8e4m3fnuz": SmallFloat(4, 3, 8, nans=(0x80,), negative_zero=False),
    "float8e5m2": SmallFloat(5, 2, 15, infinity=0x7C, nans=(0x7E, 0x7D, 0x7F, 0xFE, 0xFD, 0xFF)),
    "float8e5m2fnuz": SmallFloat(5, 2, 16, nans=(0x80,), negative_zero=False),
}
"""The types with a sign."""

EXPONENTS = "float8e8m0"
"""The type of powers of two: the pattern e is 2^(e - 127), 255 is NaN."""

EXPONENT_BIAS, EXPONENT_NAN, LAST_EXPONENT = 127, 255, 254

ROUND_MODES = ("up", "down", "nearest")


@cache
def numbers(name: str) -> tuple[float, ...]:
    """The number of each pattern, in the order of the patterns."""
    if name == EXPONENTS:
        return (*[2.0 ** (e - EXPONENT_BIAS) for e in range(EXPONENT_NAN)], nan)
    small_float = SMALL_FLOATS[name]
    return tuple(_number(pattern, small_float) for pattern in range(2 * small_float.sign))


def _number(pattern: int, small_float: SmallFloat) -> float:
    if pattern in small_float.nans:
        return nan
    magnitude, sign = pattern % small_float.sign, -1.0 if pattern >= small_float.sign else 1.0
    if magnitude == small_float.infinity:
        return sign * inf
    exponent, fraction = divmod(magnitude, 1 << small_float.fraction)
    significand = fraction + (1 << small_float.fraction if exponent else 0)
    return sign * significand * 2.0 ** (max(exponent, 1) - small_float.bias - small_float.fraction)


def elements(values: Array) -> list[float]:
    """The numbers of an array in row-major order."""
    listed = numbers(NAMES[values.dtype])
    return [listed[pattern] for pattern in values.view(np.uint8).ravel().tolist()]


def rounded(
    values: Iterable[Real], kind: np.dtype[Any], shape: Sequence[int], *, saturate: bool = True, mode: str = "up"
) -> Array:
    """Numbers in a small type, each rounded once.

    Args:
        values: in row-major order.
        kind: the type.
        shape: that of the result.
        saturate: what is beyond the greatest number becomes it; else an infinity or NaN.
        mode: of float8e8m0, one of `ROUND_MODES`.

    Raises:
        NotExecutable: a negative number has no value in float8e8m0.
    """
    name = NAMES[kind]
    if name == EXPONENTS:
        numbers = [_power(value, saturate, mode) for value in values]
    else:
        numbers = [nearest(value, SMALL_FLOATS[name], saturate) for value in values]
    return np.array(numbers, np.uint8).view(kind).reshape(shape)


def nearest(value: Real, small_float: SmallFloat, saturate: bool = True) -> int:
    """The pattern of the number nearest to a real, ties to even.

    The real is rounded as if the exponent had no upper bound; what then is beyond the greatest number becomes it, or
    without `saturate` the infinity, or NaN, with its sign where it has one.  A type without NaN always saturates; NaN
    becomes -0 of six bits, and the greatest number of four, as the pages of these types say.
    """
    negative = copysign(1.0, value) < 0 if isinstance(value, float) else value < 0
    sign = small_float.sign if negative else 0
    if isinstance(value, float) and isnan(value):
        if small_float.nans:
            return _nan(small_float, negative and not saturate)
        return _greatest(small_float) if small_float.of_nan is None else small_float.of_nan
    is_infinite = isinstance(value, float) and not isfinite(value)
    place = 2 * small_float.sign if is_infinite else _place(abs(Fraction(value)), small_float)
    if place <= _greatest(small_float):
        return place | sign if place or small_float.negative_zero else 0
    if saturate or not small_float.nans:
        return _greatest(small_float) | sign
    if small_float.infinity is not None:
        return small_float.infinity | sign
    return _nan(small_float, negative)


def _nan(small_float: SmallFloat, negative: bool) -> int:
    """The first NaN of a sign, the only one of a type that has one."""
    return next(
        (number for number in small_float.nans if negative == (number >= small_float.sign)), small_float.nans[0]
    )


def _greatest(small_float: SmallFloat) -> int:
    """The pattern of the greatest finite number."""
    last = small_float.infinity if small_float.infinity is not None else min([small_float.sign, *small_float.nans])
    return last - 1


def _place(value: Fraction, small_float: SmallFloat) -> int:
    """The magnitude of a pattern, beyond the last one for a number that is too large."""
    least = 1 - small_float.bias - small_float.fraction
    exponent = least
    while value >= Fraction(2) ** (exponent + small_float.fraction + 1):
        exponent += 1
    return (exponent - least << small_float.fraction) + round(value / Fraction(2) ** exponent)


def _power(value: Real, saturate: bool, mode: str) -> int:
    """The pattern of a power of two."""
    if isinstance(value, float) and isnan(value):
        return EXPONENT_NAN
    if (copysign(1.0, value) if isinstance(value, float) else value) < 0:
        raise NotExecutable(f"{float(value)} has no value in {EXPONENTS}, and no text gives one")
    if isinstance(value, float) and not isfinite(value):
        return LAST_EXPONENT if saturate else EXPONENT_NAN
    real, least, last = Fraction(value), Fraction(2) ** -EXPONENT_BIAS, Fraction(2) ** (LAST_EXPONENT - EXPONENT_BIAS)
    if not least <= real <= last:
        return EXPONENT_NAN if not saturate else 0 if real < least else LAST_EXPONENT
    below = real.numerator.bit_length() - real.denominator.bit_length()
    below -= Fraction(2) ** below > real
    over = real / Fraction(2) ** below  # in [1, 2)
    up = {"up": over > 1, "down": False, "nearest": over >= Fraction(3, 2)}[mode]
    return min(below + up + EXPONENT_BIAS, LAST_EXPONENT)
