"""Real numbers made of constants: symbolic first, enclosed where symbols do not decide.

A `Real` is an array of real numbers: a constant of the model, or a sum, product, quotient or root of such arrays.  Two
are equal where their polynomials over the constants are; no number is computed for that, so nothing is absorbed.  Where
they are not, both are enclosed in float64, and their difference is compared with what the roundings of a fold allow:
k roundings in any order are off by at most k u / (1 - k u) of the formula with absolute values (`rounded`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.movements import collapsed
from sonnx.equivalence.terms.narrowed_numbers import Narrowed
from sonnx.equivalence.terms.store import Store, Term
from sonnx.numerics.enclosures import midpoints
from sonnx.numerics.enclosures.arithmetic import FORMATS, TINY, UNIT
from sonnx.numerics.enclosures.midpoints import GROWTH, Enclosure
from sonnx.numerics.formats import Array

MAX_MONOMIALS = 64
"""Terms of a polynomial that is kept as one."""

ZERO = np.zeros(())

Monomial = tuple[Hashable, ...]
Polynomial = Mapping[Monomial, int]


@dataclass(frozen=True, eq=False)
class Real:
    """An array of real numbers.

    Attributes:
        kind: leaf, sum, product, inverse, root.
        parts: what it is made of.
        store: the terms.
        term: the constant of a leaf, None of rows of one.
        array: the numbers of a leaf.
        narrowed: how the constant of a leaf was narrowed; None where it was not.
    """

    kind: str
    parts: tuple[Real, ...]
    store: Store
    term: Term | None = None
    array: Array | None = None
    narrowed: Narrowed | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape to which the parts broadcast."""
        if self.array is not None:
            return tuple(self.array.shape)
        return tuple(map(int, np.broadcast_shapes(*(part.shape for part in self.parts))))

    @cached_property
    def roundings(self) -> int:
        """The operations that make it, each of which an implementation rounds once."""
        own = len(self.parts) - 1 if self.kind in ("sum", "product") else 0 if self.kind == "leaf" else 1
        return own + sum(part.roundings for part in self.parts)

    @cached_property
    def polynomial(self) -> Polynomial:
        """The polynomial over the constants, and over inverses and roots of polynomials."""
        if self.kind == "leaf":
            assert self.term is not None  # noqa: S101  a leaf has one
            whole = self._small_whole_number()
            if whole is None:
                return {(self.term.number,): 1}
            return {(): whole} if whole else {}
        polynomials = [part.polynomial for part in self.parts]
        if self.kind == "sum":
            return _sum_of_polynomials(polynomials)
        if self.kind == "product":
            product: Polynomial = {(): 1}
            for factor in polynomials:
                if len(product) * len(factor) > MAX_MONOMIALS:
                    return {(("opaque", self.store.number()),): 1}
                product = _product_of_polynomials(product, factor)
            return product
        return {((self.kind, _frozen(polynomials[0])),): 1}

    def _small_whole_number(self) -> int | None:
        """The number of a scalar leaf that is -1, 0 or 1; these are no symbols in a polynomial."""
        if self.array is None or self.array.shape != ():
            return None
        return next((whole for whole in (-1, 0, 1) if self.array == whole), None)

    @cached_property
    def key(self) -> Hashable:
        """Equal keys are equal numbers."""
        return _frozen(self.polynomial)

    @cached_property
    def enclosure(self) -> Enclosure:
        """The numbers in float64, rounded outward."""
        with np.errstate(all="ignore"):
            if self.kind == "leaf":
                assert self.array is not None  # noqa: S101  a leaf has one
                values = self.array.astype(np.float64)
                return Enclosure(values, ZERO, np.abs(values))
            enclosures = [part.enclosure for part in self.parts]
            if self.kind == "inverse":
                return midpoints.inverse(enclosures[0])
            if self.kind == "root":
                return midpoints.root(enclosures[0])
            return reduce(midpoints.add if self.kind == "sum" else midpoints.multiply, enclosures)

    @property
    def is_finite(self) -> bool:
        """Whether every number is known to be finite."""
        middle, radius, _ = self.enclosure
        return bool(np.isfinite(middle).all() and np.isfinite(radius).all())

    def mapped(self, change: Callable[[Array], Array]) -> Real:
        """The numbers after `change` has moved the elements of each constant, broadcast to the shape before."""
        return self._mapped(self.shape, change)

    def _mapped(self, shape: tuple[int, ...], change: Callable[[Array], Array]) -> Real:
        if self.array is not None:
            return self if self.array.size == 1 else self.moved(lambda array: change(np.broadcast_to(array, shape)))
        return Real(self.kind, tuple([part._mapped(shape, change) for part in self.parts]), self.store)

    def moved(self, change: Callable[[Array], Array]) -> Real:
        """A leaf with its elements moved."""
        assert self.term is not None  # noqa: S101  it is a leaf
        return leaf_of(self.store, movements.constant_like(self.store, self.term, change))

    def least(self) -> Real:
        """Equal numbers, with each constant in its collapsed form."""
        if self.term is not None:
            return leaf_of(self.store, movements.collapsed_constant(self.store, self.term))
        return Real(self.kind, tuple([part.least() for part in self.parts]), self.store)

    def rows(self, part: slice, shape: tuple[int, ...]) -> Real:
        """The numbers of some indices of the first axis of a shape to which this is broadcast."""
        if self.array is not None:
            whole = self.array.ndim == len(shape) and self.array.ndim > 0 and self.array.shape[0] > 1
            if not whole:
                return self
            narrowed = None if self.narrowed is None else self.narrowed.moved(lambda array: array[part], shape)
            return Real("leaf", (), self.store, array=self.array[part], narrowed=narrowed)
        return Real(self.kind, tuple([real.rows(part, shape) for real in self.parts]), self.store)

    def __add__(self, other: Real) -> Real:
        return Real("sum", (self, other), self.store)

    def __mul__(self, other: Real) -> Real:
        return Real("product", (self, other), self.store)


def _sum_of_polynomials(polynomials: Sequence[Polynomial]) -> Polynomial:
    sums: dict[Monomial, int] = {}
    for polynomial in polynomials:
        for monomial, factor in polynomial.items():
            sums[monomial] = sums.get(monomial, 0) + factor
    return {monomial: factor for monomial, factor in sums.items() if factor}


def _product_of_polynomials(first: Polynomial, second: Polynomial) -> Polynomial:
    product: dict[Monomial, int] = {}
    for monomial, factor in first.items():
        for further, further_factor in second.items():
            both = tuple(sorted((*monomial, *further), key=repr))
            product[both] = product.get(both, 0) + factor * further_factor
    return {monomial: factor for monomial, factor in product.items() if factor}


def _frozen(polynomial: Polynomial) -> Hashable:
    return tuple(sorted(polynomial.items(), key=repr))


def leaf(store: Store, array: Array) -> Real:
    """The numbers of an array of floating-point numbers."""
    return leaf_of(store, movements.constant_of(store, array))


def leaf_of(store: Store, constant: Term) -> Real:
    """The numbers of a constant."""
    return Real("leaf", (), store, constant, constant.array, store.narrowing_of(constant))


def number(store: Store, value: float) -> Real:
    """One number."""
    return leaf(store, np.array(value, np.float64))


def inverse(value: Real) -> Real:
    """1 / value."""
    return Real("inverse", (value,), value.store)


def root(value: Real) -> Real:
    """The square root."""
    return Real("root", (value,), value.store)


# ------------------------------------------------------------------ comparison


class ConstantDifference(NamedTuple):
    """How two arrays of numbers differ.

    `largest` is at least the largest distance of two numbers, `gain` at least the largest sum of those that one output
    reads, `allowed` what the roundings of a fold explain of the number with the largest distance, `size` the largest
    magnitude of either.  `explained`: every distance is within what is allowed, or `narrowed`: the formulas are one but
    for narrowings.
    """

    largest: float
    gain: float
    allowed: float
    size: float
    explained: bool
    narrowed: bool = False


NO_DIFFERENCE = ConstantDifference(0.0, 0.0, 0.0, 0.0, True)
OVERFLOW = ConstantDifference(0.0, 0.0, 0.0, np.inf, False)
"""Of formulas of constants that may overflow in the type: then the models may have no finite value."""


def difference(
    first: Real | None, second: Real | None, unit_of: str, store: Store, output_axis: int | None = None
) -> ConstantDifference:
    """How two arrays of numbers differ; None stands for 0.

    Nothing is allowed where both are made by equally many operations: then neither is the other one folded.

    Args:
        first: the numbers of the first model.
        second: those of the second one.
        unit_of: the element type in which a fold is rounded.
        store: of the terms.
        output_axis: 0 where an output reads the numbers of one index of the first axis, as of the weight of a Conv; 1
            where it reads those of one index of the second axis, as of a matrix; None where it reads one number.
    """
    zero = number(store, 0.0)
    first, second = zero if first is None else first, zero if second is None else second
    if first.key == second.key:
        return NO_DIFFERENCE if _fits(first, unit_of) and _fits(second, unit_of) else OVERFLOW
    narrowed = store.narrowings is not None and are_one_but_for_narrowings(first, second)
    count = max(first.roundings, second.roundings) if first.roundings != second.roundings else 0
    shape = np.broadcast_shapes(first.shape, second.shape)
    sums, most, size, allowed, explained = np.zeros(()), 0.0, 0.0, 0.0, True
    with np.errstate(all="ignore"):
        for part in _parts(shape):
            rows = (first, second) if part is None else (first.rows(part, shape), second.rows(part, shape))
            a, b = rows[0].enclosure, rows[1].enclosure
            distance = np.atleast_1d(_distance(a, b))
            limit = np.atleast_1d(_allowed(a, b, count, unit_of))
            here = float(np.max(distance, initial=0.0))
            explained = explained and (narrowed or bool((distance <= limit).all())) and bool(np.isfinite(here))
            if not here <= most:  # larger, or NaN
                allowed = float(np.broadcast_to(limit, distance.shape).reshape(-1)[int(np.argmax(distance))])
                most = here
            size = max(size, float(np.max(a.size, initial=0.0)), float(np.max(b.size, initial=0.0)))
            if output_axis is not None:
                full = np.broadcast_to(distance, (*np.shape(distance)[:1], *shape[1:]) if part else shape)
                if output_axis:
                    sums = sums + full.sum(axis=0)
                else:
                    sums = np.maximum(sums, full.sum(axis=tuple(range(1, full.ndim))).max(initial=0.0))
    if max(first.roundings, second.roundings) and size > FORMATS[unit_of].largest:
        return OVERFLOW
    gain = most if output_axis is None else float(np.max(sums, initial=0.0)) * (1 + 2.0**-20)
    return ConstantDifference(most, gain, allowed, size, explained, narrowed)


def are_one_but_for_narrowings(first: Real, second: Real) -> bool:
    """Whether two formulas of constants are equal once narrowed constants stand for the numbers they were rounded from.

    Each narrowed number has its own wide number, so that one choice of the wide numbers makes both formulas equal.
    """
    if first.key == second.key or _are_equal_constants(first, second):
        return True
    if _is_narrowed(first, second) or _is_narrowed(second, first):
        return True
    if first.kind != second.kind or first.kind == "leaf" or len(first.parts) != len(second.parts):
        return False
    return all(are_one_but_for_narrowings(*pair) for pair in zip(first.parts, second.parts, strict=True))


def _is_narrowed(narrow: Real, wide: Real) -> bool:
    """Whether a constant is what its narrower type makes of a formula of constants that do not have this type."""
    known = narrow.narrowed
    if known is None or (wide.narrowed is not None and wide.narrowed.element == known.element):
        return False
    try:
        shape = tuple(map(int, np.broadcast_shapes(narrow.shape, wide.shape)))
    except ValueError:
        return False
    with np.errstate(all="ignore"):
        for part in _parts(shape):
            near, far = (narrow, wide) if part is None else (narrow.rows(part, shape), wide.rows(part, shape))
            if near.array is None or near.narrowed is None:
                return False
            if not (_distance(near.enclosure, far.enclosure) <= near.narrowed.radii(near.array)).all():
                return False
    return True


def _are_equal_constants(first: Real, second: Real) -> bool:
    """Whether two constants have equal numbers, narrowed or not."""
    return (
        first.array is not None and second.array is not None
        and np.array_equal(collapsed(first.array), collapsed(second.array))
    )  # fmt: skip


def _fits(real: Real, element: str) -> bool:
    """Whether no operation of a formula overflows in a type, in any order."""
    return not real.roundings or bool((real.enclosure.size <= FORMATS[element].largest).all())


BLOCK = 1 << 16
"""Numbers that are compared at a time, so that they stay near the processor."""


def _parts(shape: tuple[int, ...]) -> Iterator[slice | None]:
    """Slices of the first axis; None for all at once."""
    whole = int(np.prod(shape)) if shape else 1
    if whole <= BLOCK or shape[0] < 2:
        yield None
        return
    step = max(1, BLOCK // (whole // shape[0]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def _distance(a: Enclosure, b: Enclosure) -> Array:
    """At least the distance of two numbers; 0 where both are the same number of float64."""
    distance = np.abs(a.middle - b.middle)
    if a.radius.any() or b.radius.any():
        distance = distance + a.radius + b.radius
    return np.asarray(distance * GROWTH)


def _allowed(a: Enclosure, b: Enclosure, count: int, unit_of: str) -> Array:
    """The distance that `count` roundings of a type explain."""
    if not count:
        return ZERO
    return np.asarray(np.maximum(a.size, b.size) * rounded(count, unit_of) + FORMATS[unit_of].tiny * (1 + count))


def rounded(count: int, element: str) -> float:
    """K u / (1 - k u): what k roundings of a type may change, of the formula with absolute values."""
    unit = FORMATS[element].unit
    return count * unit / (1 - count * unit) * (1 + 8 * UNIT) + TINY


def total(parts: Sequence[Real | None]) -> Real | None:
    """The sum of the parts that are not None."""
    listed = [part for part in parts if part is not None]
    if not listed:
        return None
    return listed[0] if len(listed) == 1 else Real("sum", tuple(listed), listed[0].store)
