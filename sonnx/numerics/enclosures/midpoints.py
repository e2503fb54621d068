"""Numbers enclosed by a middle and a radius, in float64 rounded outward, for formulas of constants.

Each operation encloses what exact arithmetic gives for any numbers within the operands.  Beside that, `size` follows
the formula with absolute values, which bounds what roundings of an implementation change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonnx.numerics.enclosures.arithmetic import TINY, UNIT
from sonnx.numerics.formats import Array

GROWTH = 1 + 16 * UNIT
"""Makes a bound computed in float64 with a few roundings at least the exact one."""


class Enclosure(NamedTuple):
    """Arrays of float64: the numbers lie within `radius` of `middle`; `size` is at least the formula with absolute
    values.  The arrays broadcast to one shape.
    """

    middle: Array
    radius: Array
    size: Array

    @property
    def low(self) -> Array:
        """At most the numbers."""
        return np.asarray(np.nextafter(self.middle - self.radius, -np.inf))


def add(first: Enclosure, second: Enclosure) -> Enclosure:
    """X + y; exact where float64 adds exact numbers without a rounding."""
    middle = first.middle + second.middle
    radius = (first.radius + second.radius + np.abs(middle) * UNIT) * GROWTH + TINY
    exact = _is_exact_sum(first.middle, second.middle, middle) & (first.radius == 0) & (second.radius == 0)
    return Enclosure(middle, np.where(exact, 0.0, radius), (first.size + second.size) * GROWTH)


def _is_exact_sum(x: Array, y: Array, total: Array) -> Array:
    """Where x + y = total over the reals (Knuth's error of a sum is 0)."""
    part = total - x
    error = (x - (total - part)) + (y - part)
    return np.asarray((error == 0) & np.isfinite(total))


def multiply(first: Enclosure, second: Enclosure) -> Enclosure:
    """X y."""
    middle, size = first.middle * second.middle, first.size * second.size * GROWTH + TINY
    radius = np.abs(middle) * UNIT
    if first.radius.any():
        radius = radius + first.radius * (np.abs(second.middle) + second.radius)
    if second.radius.any():
        radius = radius + np.abs(first.middle) * second.radius
    return Enclosure(middle, radius * GROWTH + TINY, size)


def inverse(divisor: Enclosure) -> Enclosure:
    """1 / x; |1 / x - 1 / m| is at most r / (|m| (|m| - r)); the radius is infinite where x may be 0."""
    magnitude = np.abs(divisor.middle)
    least = (magnitude - divisor.radius) * (1 - 4 * UNIT)
    certain = least > 0
    least = np.where(certain, least, 1.0)
    middle = 1 / np.where(certain, divisor.middle, 1.0)
    radius = (divisor.radius / least / np.where(certain, magnitude, 1.0) + np.abs(middle) * UNIT) * GROWTH + TINY
    size = divisor.size / least / least * GROWTH  # how far a relative error of a rounding is magnified
    return Enclosure(middle, np.where(certain, radius, np.inf), np.where(certain, size, np.inf))


def root(radicand: Enclosure) -> Enclosure:
    """The square root of x; |root x - root m| is at most r / root m; infinite where x may be 0 or less."""
    certain = radicand.middle > radicand.radius
    argument = np.where(certain, radicand.middle, 1.0)
    middle = np.sqrt(argument)
    radius = (radicand.radius / middle + middle * UNIT) * GROWTH + TINY
    return Enclosure(
        middle, np.where(certain, radius, np.inf), np.where(certain, radicand.size / middle * GROWTH, np.inf)
    )
