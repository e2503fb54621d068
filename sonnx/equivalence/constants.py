"""Real numbers made of constants: symbolic first, enclosed where symbols do not decide.

A `Real` is an array of real numbers: a constant of the model, or a sum, product, quotient or root of such arrays.  Two are
equal where their polynomials over the constants are; no number is computed for that, so nothing is absorbed.  Where they
are not, both are enclosed in float64, rounded outward, and their difference is compared with what the roundings of a fold
allow: k roundings in any order are off by at most k u / (1 - k u) of the formula with absolute values (`allowed`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sonnx.equivalence import movements
from sonnx.equivalence.elementwise import collapsed
from sonnx.equivalence.terms import Store, Term
from sonnx.numerics.enclosures.arithmetic import FORMATS, TINY, UNIT
from sonnx.numerics.formats import Array

MAX_MONOMIALS = 64
"""Terms of a polynomial that is kept as one."""

Monomial = tuple[Hashable, ...]
Polynomial = Mapping[Monomial, int]


class Enclosure(NamedTuple):
    """Arrays of float64: the numbers lie within `radius` of `middle`; `size` is at least the formula with absolute
    values.
    """

    middle: Array
    radius: Array
    size: Array

    @property
    def low(self) -> Array:
        """At most the numbers."""
        return np.asarray(np.nextafter(self.middle - self.radius, -np.inf))


@dataclass(frozen=True, eq=False)
class Real:
    """An array of real numbers.

    Attributes:
        kind: leaf, sum, product, inverse, root.
        parts: what it is made of.
        term: the constant of a leaf.
        store: the terms.
    """

    kind: str
    parts: tuple[Real, ...]
    store: Store
    term: Term | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape, broadcast."""
        if self.term is not None and self.term.array is not None:
            return self.term.array.shape
        return np.broadcast_shapes(*(each.shape for each in self.parts))

    @cached_property
    def roundings(self) -> int:
        """The operations that make it, each of which an implementation rounds once."""
        own = len(self.parts) - 1 if self.kind in ("sum", "product") else 0 if self.kind == "leaf" else 1
        return own + sum(each.roundings for each in self.parts)

    @cached_property
    def polynomial(self) -> Polynomial:
        """The polynomial over the constants, and over inverses and roots of polynomials."""
        if self.kind == "leaf":
            assert self.term is not None  # noqa: S101  a leaf has one
            one = self.term.array
            if one is not None and one.shape == () and one == 1:
                return {(): 1}
            if one is not None and one.shape == () and one == 0:
                return {}
            if one is not None and one.shape == () and one == -1:
                return {(): -1}
            return {(self.term.number,): 1}
        polynomials = [each.polynomial for each in self.parts]
        made: dict[Monomial, int] = {}
        if self.kind == "sum":
            for each in polynomials:
                for monomial, factor in each.items():
                    made[monomial] = made.get(monomial, 0) + factor
            return {monomial: factor for monomial, factor in made.items() if factor}
        if self.kind == "product":
            product: dict[Monomial, int] = {(): 1}
            for each in polynomials:
                if len(product) * len(each) > MAX_MONOMIALS:
                    return {(("opaque", id(self)),): 1}
                made = {}
                for one_factors, first in product.items():
                    for other, second in each.items():
                        both = tuple(sorted((*one_factors, *other), key=repr))
                        made[both] = made.get(both, 0) + first * second
                product = {monomial: factor for monomial, factor in made.items() if factor}
            return product
        return {((self.kind, _frozen(polynomials[0])),): 1}

    @cached_property
    def key(self) -> Hashable:
        """Equal keys are equal numbers."""
        return _frozen(self.polynomial)

    @cached_property
    def enclosure(self) -> Enclosure:
        """The numbers in float64, rounded outward."""
        with np.errstate(all="ignore"):
            if self.kind == "leaf":
                assert self.term is not None and self.term.array is not None  # noqa: S101  a leaf is a constant
                values = self.term.array.astype(np.float64)
                return Enclosure(values, ZERO, np.abs(values))
            inner = [each.enclosure for each in self.parts]
            if self.kind == "inverse":
                return _inverse(inner[0])
            if self.kind == "root":
                return _root(inner[0])
            made = inner[0]
            for each in inner[1:]:
                made = (_sum if self.kind == "sum" else _product)(made, each)
            return made

    @property
    def is_finite(self) -> bool:
        """Whether every number is known to be finite."""
        found = self.enclosure
        return bool(np.isfinite(found.middle).all() and np.isfinite(found.radius).all())

    def mapped(self, change: Callable[[Array], Array]) -> Real:
        """The same on constants whose elements are moved, each constant broadcast to the shape of the whole first."""
        return self._mapped(self.shape, change)

    def _mapped(self, shape: tuple[int, ...], change: Callable[[Array], Array]) -> Real:
        if self.term is not None and self.term.array is not None:
            if self.term.array.size == 1:
                return self
            return leaf(self.store, change(np.broadcast_to(self.term.array, shape)))
        return Real(self.kind, tuple([each._mapped(shape, change) for each in self.parts]), self.store)

    def least(self) -> Real:
        """The same with each constant in its collapsed form."""
        if self.term is not None and self.term.array is not None:
            return leaf(self.store, collapsed(self.term.array))
        return Real(self.kind, tuple([each.least() for each in self.parts]), self.store)

    def __add__(self, other: Real) -> Real:
        return Real("sum", (self, other), self.store)

    def __mul__(self, other: Real) -> Real:
        return Real("product", (self, other), self.store)


def _frozen(polynomial: Polynomial) -> Hashable:
    return tuple(sorted(polynomial.items(), key=repr))


def leaf(store: Store, array: Array) -> Real:
    """The numbers of a constant array of floating-point numbers."""
    return Real("leaf", (), store, movements.constant_of(store, array))


def number(store: Store, value: float) -> Real:
    """One number."""
    return leaf(store, np.array(value, np.float64))


def inverse(value: Real) -> Real:
    """1 / value."""
    return Real("inverse", (value,), value.store)


def root(value: Real) -> Real:
    """The square root."""
    return Real("root", (value,), value.store)


# ------------------------------------------------------------------ enclosures


ZERO = np.zeros(())
GROWTH = 1 + 16 * UNIT
"""Makes a bound computed in float64 with a few roundings at least the exact one."""


def _sum(one: Enclosure, other: Enclosure) -> Enclosure:
    middle = one.middle + other.middle
    radius = (one.radius + other.radius + np.abs(middle) * UNIT) * GROWTH + TINY
    exact = _exact_sum(one.middle, other.middle, middle) & (one.radius == 0) & (other.radius == 0)
    return Enclosure(middle, np.where(exact, 0.0, radius), (one.size + other.size) * GROWTH)


def _exact_sum(x: Array, y: Array, total: Array) -> Array:
    """Where x + y = total over the reals (Knuth's error of a sum is 0)."""
    part = total - x
    error = (x - (total - part)) + (y - part)
    return np.asarray((error == 0) & np.isfinite(total))


def _product(one: Enclosure, other: Enclosure) -> Enclosure:
    middle, size = one.middle * other.middle, one.size * other.size * GROWTH + TINY
    radius = np.abs(middle) * UNIT
    if one.radius.any():
        radius = radius + one.radius * (np.abs(other.middle) + other.radius)
    if other.radius.any():
        radius = radius + np.abs(one.middle) * other.radius
    return Enclosure(middle, radius * GROWTH + TINY, size)


def _inverse(of: Enclosure) -> Enclosure:
    """1 / x; |1 / x - 1 / m| is at most r / (|m| (|m| - r))."""
    magnitude = np.abs(of.middle)
    least = (magnitude - of.radius) * (1 - 4 * UNIT)
    certain = least > 0
    least = np.where(certain, least, 1.0)
    middle = 1 / np.where(certain, of.middle, 1.0)
    radius = (of.radius / least / np.where(certain, magnitude, 1.0) + np.abs(middle) * UNIT) * GROWTH + TINY
    size = of.size / least / least * GROWTH  # how far a relative error of a rounding is magnified
    return Enclosure(middle, np.where(certain, radius, np.inf), np.where(certain, size, np.inf))


def _root(of: Enclosure) -> Enclosure:
    """The root of x; |root x - root m| is at most r / root m."""
    certain = of.middle > of.radius
    argument = np.where(certain, of.middle, 1.0)
    middle = np.sqrt(argument)
    radius = (of.radius / middle + middle * UNIT) * GROWTH + TINY
    return Enclosure(middle, np.where(certain, radius, np.inf), np.where(certain, of.size / middle * GROWTH, np.inf))


# ------------------------------------------------------------------ comparison


class Difference(NamedTuple):
    """How two arrays of numbers differ.

    `distance` is at least the distance of each pair, `allowed` what the roundings of a fold explain, `size` the largest
    magnitude of either.  `explained`: every distance is within what is allowed.
    """

    distance: Array
    allowed: Array
    size: float
    explained: bool

    @property
    def largest(self) -> float:
        """The largest distance."""
        return float(self.distance.max(initial=0.0))


def difference(one: Real | None, other: Real | None, unit_of: str, store: Store, most: int = 0) -> Difference:
    """How two arrays of numbers differ; None stands for 0.

    Nothing is allowed where both are made by equally many operations: then neither is the other one folded.

    Args:
        one, other: the numbers.
        unit_of: the element type in which a fold is rounded.
        store: of the terms.
        most: further roundings that a fold may have had, of both sides alike.
    """
    first = number(store, 0.0) if one is None else one
    second = number(store, 0.0) if other is None else other
    if first.key == second.key:
        return Difference(ZERO, ZERO, 0.0, True)
    a, b = first.enclosure, second.enclosure
    with np.errstate(all="ignore"):
        apart = a.middle - b.middle
        distance = np.abs(apart, out=apart) if isinstance(apart, np.ndarray) and apart.ndim else np.abs(apart)
        if a.radius.any() or b.radius.any():
            distance = (distance + a.radius + b.radius) * GROWTH
        else:
            distance = distance * GROWTH  # 0 where they are equal: a difference of float64 numbers is 0 then only
        allowed = ZERO
        if first.roundings != second.roundings:
            count = max(first.roundings, second.roundings) + most
            allowed = np.maximum(a.size, b.size) * rounded(count, unit_of) + FORMATS[unit_of].tiny * (1 + count)
        largest = float(np.max(distance, initial=0.0))
        explained = bool((distance <= allowed).all()) and bool(np.isfinite(largest))
        size = max(float(np.max(a.size, initial=0.0)), float(np.max(b.size, initial=0.0)))
    return Difference(np.asarray(distance), np.asarray(allowed), size, explained)


def rounded(count: int, element: str) -> float:
    """k u / (1 - k u): what k roundings of a type may change, of the formula with absolute values."""
    unit = FORMATS[element].unit
    return count * unit / (1 - count * unit) * (1 + 8 * UNIT) + TINY


def total(parts: Sequence[Real | None]) -> Real | None:
    """The sum of what is there."""
    listed = [each for each in parts if each is not None]
    if not listed:
        return None
    return listed[0] if len(listed) == 1 else Real("sum", tuple(listed), listed[0].store)
