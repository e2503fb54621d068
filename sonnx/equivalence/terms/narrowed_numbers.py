"""What is known of numbers that were narrowed: constants of a narrower type, and values that pass through integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonnx.numerics.formats import Array

WIDE = "float"
"""The type that values of narrower types are taken as."""

DIGITS = {"float16": (11, -24), "bfloat16": (8, -133)}
"""Of each narrower type the binary digits, and the exponent of its least number above 0."""

LEAST_KEPT = {"float16": 2.0**-23}
"""Converters to float16 keep small numbers from becoming 0: a number up to this one stands for all that are smaller."""

SLACK = 1 + 2.0**-7
"""What folds in float add to the distance of a constant from the number that was narrowed."""


@dataclass(frozen=True, eq=False)
class Narrowed:
    """How a constant was narrowed.

    Attributes:
        element: the narrower type.
        own_radii: for integers, how far the number that was narrowed may be from each element.
        quantum: for integers, the largest distance of two neighbouring numbers.
    """

    element: str
    own_radii: Array | None = None
    quantum: float | None = None

    def radii(self, array: Array) -> Array:
        """How far the number that was narrowed may be from each element."""
        return float_radii(array, self.element) if self.own_radii is None else self.own_radii.astype(np.float64)

    def moved(self, change: Callable[[Array], Array], shape: Sequence[int]) -> Narrowed:
        """The same of the moved elements; the radii are broadcast to the shape before."""
        if self.own_radii is None:
            return self
        return Narrowed(self.element, change(np.broadcast_to(self.own_radii, tuple(shape))), self.quantum)


@dataclass(frozen=True)
class Passage:
    """A value that passes through integers: QuantizeLinear, then DequantizeLinear with the same scale.

    Attributes:
        element: the type of the integers.
        quantum: the largest scale; None where it is computed from the values, so that these have no ends.
        low, high: the ends of the numbers that the integers stand for; values beyond become these.
    """

    element: str
    quantum: float | None
    low: float
    high: float


@dataclass(eq=False)
class Narrowings:
    """What a store knows of narrowings.

    Attributes:
        constants: how constants were narrowed, by the number of their term.
        limited: the limits of a Relu or Clip that the integers of a `narrowed` term stand for, by the numbers of the
            matched pair.
    """

    constants: dict[int, Narrowed] = field(default_factory=dict)
    limited: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)


def float_radii(array: Array, element: str) -> Array:
    """How far a number may be that a floating-point type rounds to each element.

    A conversion to bfloat16 may cut digits off, so there it is twice as far.
    """
    digits, least = DIGITS[element]
    numbers = np.abs(array.astype(np.float64))
    _, exponents = np.frexp(numbers)
    unit = np.ldexp(1.0, np.maximum(exponents - digits, least).astype(np.int64))
    radii = unit if element == "bfloat16" else unit / 2
    kept = LEAST_KEPT.get(element, 0.0)
    return np.asarray(np.where(numbers <= kept, np.maximum(radii, kept), radii) * SLACK)
