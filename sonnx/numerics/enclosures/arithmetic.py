"""Float64 arithmetic that rounds outward, and the error of a sum of products in a floating-point format.

A range is a pair of float64 arrays `low <= high`; a bound is a float64 array of numbers that are at least 0.  Every
function states what it guarantees over the reals.  `UNIT` is the relative error of one float64 operation.

Let Q be what exact arithmetic gives for a formula of additions and multiplications on float64 numbers that are at least
0, and q what float64 gives with at most n roundings on the way to any term.  Then Q <= q (1 + 2 n UNIT) + n TINY while
n UNIT <= 2**-10: each rounding changes a term by a factor between 1 - UNIT and 1 + UNIT, or by less than TINY.  This is
the lemma of `grown` (theorem bounds.growth).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import frexp, inf, prod
from typing import Any

import numpy as np

from sonnx.numerics.formats import ELEMENTS, Array

UNIT, TINY = 2.0**-53, 2.0**-1074
"""The relative error of a rounding to float64, and the least positive float64."""

FUNCTION = 2.0**-45
"""The relative error numpy's float64 functions are trusted with, twice what docs/trust.md states."""

UNDERFLOW = 2.0**-1020
"""The absolute error numpy's float64 functions are trusted with where they or their parts underflow."""


@dataclass(frozen=True, slots=True)
class RoundingFormat:
    """A floating-point format with rounding to nearest.

    `unit` is the relative error of a rounding to a normal number, `tiny` the least subnormal number, `normal` the least
    normal one, `largest` the largest finite one.
    """

    name: str
    unit: float
    tiny: float
    normal: float
    largest: float


FORMATS = {
    "float16": RoundingFormat("float16", 2.0**-11, 2.0**-24, 2.0**-14, 65504.0),
    "bfloat16": RoundingFormat("bfloat16", 2.0**-8, 2.0**-133, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
    "float": RoundingFormat("float", 2.0**-24, 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "double": RoundingFormat("double", UNIT, TINY, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
}
"""The element types that have errors, by their ONNX name."""


def representable(value: float, element: str) -> bool:
    """Whether an element type has a number."""
    with np.errstate(all="ignore"):
        return element not in FORMATS or float(np.float64(value).astype(ELEMENTS[element])) == value


def grown(bound: Any, roundings: int, *, over: bool = False) -> Array:
    """A bound computed in float64 with at most this many roundings of each term, made at least the exact one; written
    over `bound` where nothing else reads that.
    """
    over = over and isinstance(bound, np.ndarray)
    array: Array = np.multiply(bound, 1 + (2 * roundings + 4) * UNIT, out=bound if over else None)
    array += (roundings + 1) * TINY
    return array


@dataclass(frozen=True, slots=True)
class Single:
    """At most 1: the absolute values of numbers over a power of 2 above them, rounded to float32."""

    array: Array
    scale: float


SINGLE, MOST_SINGLE = 2.0**-24, 2**14 - 8
"""The relative error of a rounding to float32, and the terms of a product of `Single` at most."""


def single(values: Array) -> Single | None:
    """Absolute values in float32, None where their size is too far from 1."""
    most = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if most != 0 and not 2.0**-400 < most < 2.0**400:
        return None
    scale = 2.0 ** frexp(most)[1]
    array = np.multiply(values, 1 / scale, out=np.empty(values.shape, np.float32), casting="same_kind")
    return Single(np.abs(array, out=array), scale)


def product_above(multiply: Callable[[Array, Array], Array], a: Single, b: Single, terms: int) -> Array:
    """At least the product of absolute values, from sums of so many products in float32.

    By the lemma of `grown` for float32: a term has at most 2 roundings of operands, one of the product and those of the
    additions, each relative or of at most 2^-126, as no operand is above 1: also where subnormal numbers become 0.
    """
    scale = a.scale * b.scale
    array = multiply(a.array, b.array) * np.float64(scale * (1 + (2 * terms + 16) * SINGLE))
    array += (terms + 1) * (scale * 2.0**-122 + TINY)
    return np.asarray(array)


def scaled_error(factor: Any, error: Array) -> Array:
    """At least factor · error, and 0 where the error is 0."""
    return np.where(error == 0, 0.0, grown(factor * error, 1))


def below(values: Any) -> Array:
    """At most the exact result of one operation that float64 rounded to `values`."""
    array: Array = values - _step(values)
    return array


def above(values: Any) -> Array:
    """At least the exact result of one operation that float64 rounded to `values`."""
    array: Array = values + _step(values)
    return array


def ends_of_product(one: Sequence[Array], other: Sequence[Array]) -> tuple[Array, Array]:
    """The ends of the product of two numbers between ends, rounded outward."""
    with np.errstate(all="ignore"):
        corners = np.stack(np.broadcast_arrays(*(a * b for a in one for b in other)))
    return below(corners.min(axis=0)), above(corners.max(axis=0))


def _step(values: Any) -> Array:
    """At least one unit in the last place of float64 numbers, so that a rounded sum with it is at least the next one;
    eight times as fast as numpy's `nextafter`.
    """
    array: Array = np.abs(values) * (2 * UNIT)
    array += TINY
    return array


def function_below(values: Array) -> Array:
    """At most the exact value of a function whose float64 approximation is `values`."""
    array: Array = values - np.abs(values) * FUNCTION - UNDERFLOW
    return array


def function_above(values: Array) -> Array:
    """At least the exact value of a function whose float64 approximation is `values`."""
    array: Array = values + np.abs(values) * FUNCTION + UNDERFLOW
    return array


def magnitude(low: Array, high: Array) -> Array:
    """The largest absolute value in a range; exact."""
    return np.maximum(high, np.abs(low))


def centre(low: Array, high: Array) -> tuple[Array, Array]:
    """A number c in each range and a radius r with [low, high] inside [c - r, c + r]; r is 0 where low = high."""
    middle = np.where(low == high, low, 0.5 * low + 0.5 * high)
    radius = np.where(low == high, 0.0, above(np.maximum(high - middle, middle - low)))
    return middle, radius


def accumulated(count: int) -> float:
    """γ = n UNIT / (1 - n UNIT): the relative error of n roundings in a row in float64, rounded up."""
    return count * UNIT * (1 + 2.0**-20) if count < 2**30 else inf


# ------------------------------------------------------------------ the error of a sum of products


@dataclass(frozen=True, slots=True)
class SumOrder:
    """In which order an implementation adds: any, pairwise, so many lanes, or exactly with one rounding at the end."""

    kind: str
    lanes: int = 0

    def depth(self, terms: int) -> float:
        """How many additions a term passes at most; infinite where any order is admitted."""
        if self.kind == "pairwise":
            return (max(terms, 1) - 1).bit_length()
        if self.kind == "lanes":
            return -(-terms // self.lanes) + min(self.lanes, terms) - 1
        return inf


@dataclass(frozen=True, slots=True)
class Factors:
    """What the terms of a sum are products of, in any order and grouping: operands and constants.

    `sizes` has for each factor a number of at least 1 that is at least its absolute value in every term, largest first:
    theorems in proofs/coq/factors.v say what follows from it for every order and grouping, and that `of`, `times`,
    `scaled` and `or_` keep it.
    `constants` is at least every product of constants, `operand` every product of an operand and factors that are the
    same for all elements: what an implementation may multiply in advance.
    """

    sizes: tuple[float, ...]
    constants: float = 1.0
    operand: float = 1.0

    @staticmethod
    def of(*operands: float) -> Factors:
        """Of operands of at most these absolute values."""
        sizes = _falling(max(number, 1.0) for number in operands)
        return Factors(sizes, operand=max(sizes, default=1.0))

    @staticmethod
    def of_constant(size: float) -> Factors:
        """Of one constant."""
        return Factors((max(size, 1.0),), constants=max(size, 1.0))

    def times(self, other: Factors) -> Factors:
        """Of products with other terms."""
        sizes = _falling((*self.sizes, *other.sizes))
        return Factors(sizes, self.constants * other.constants, max(self.operand, other.operand))

    def scaled(self, size: float, *, everywhere: bool, steps: int = 1) -> Factors:
        """Times a constant factor.

        Args:
            size: at least its absolute value, and that of each product of what it is made of.
            everywhere: whether it is the same for all elements.
            steps: 2 where it is itself a rounded number, which may have underflowed.
        """
        more = max(size, 1.0)
        sizes = _falling((*self.sizes, more, *[1.0] * (steps - 1)))
        return Factors(sizes, self.constants * more, self.operand * (more if everywhere else 1.0))

    def or_(self, other: Factors) -> Factors:
        """Of the terms of both."""
        count = max(len(self.sizes), len(other.sizes))
        both = [factors.sizes + (1.0,) * (count - len(factors.sizes)) for factors in (self, other)]
        sizes = tuple(map(max, *both))
        return Factors(sizes, max(self.constants, other.constants), max(self.operand, other.operand))

    @property
    def after_rounding(self) -> float:
        """At least what a rounded product of two or more factors is multiplied by afterwards (so named in Coq)."""
        return prod(self.sizes[:-2]) * (1 + 2.0**-40)

    @property
    def after_operand(self) -> float:
        """At least what a single factor, or a sum of such, is multiplied by (so named in Coq)."""
        return prod(self.sizes[:-1]) * (1 + 2.0**-40)


def _falling(sizes: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted(sizes, reverse=True))


def roundings(terms: Any, scalings: Any) -> Any:
    """At least how many roundings the sum of so many terms has (theorem bounds.sum-roundings)."""
    return terms * scalings + terms


def enlargement(unit: float, least: float, scalings: float) -> float:
    """How much an error of underflow, of at most this size, grows by underflow in the factors that follow it.

    One more rounding outweighs that of up to six factors in every format, and of thousands with gradual underflow.
    """
    if (scalings + 1) * least * (1 + unit) <= unit:
        return 1.0
    losses = (scalings + 1) * least
    return float(grown(1 / (1 - losses), 4)) if losses < 1 else inf


def flushed_operands(terms: int, factors: float, lost: float) -> float:
    """What it changes that an implementation takes subnormal operands for 0: of terms of so many factors each.

    A factor changes its term by less than the least normal number times the other factors, of which `lost` has the
    product; twice that covers that `result` of `sum_error` bounds the sum of the operands as they are.
    """
    return 2 * terms * factors * lost


def sum_error(
    rounding_format: RoundingFormat,
    order: SumOrder,
    terms: int,
    scalings: float,
    absolute: Array,
    result: Array,
    least: float,
    depth: float,
) -> Array:
    """How far the computed sum of terms v_1 .. v_n can be from the exact sum y.

    The implementation makes each v_k with at most `scalings` = r roundings on its way (the product, a scale before or
    after an addition), each of relative error u, and adds n terms in n - 1 rounded additions in any order; a fused
    multiplication and addition leaves out a rounding.  S >= Σ|v_k|, and |y| is at most `result`.

    Lemma (theorems bounds.sum-*).  Number the roundings e so that each comes after those below it.  The error is
    Σ_e δ_e V_e, where |δ_e| <= u and V_e is what is rounded, and V_e differs from the exact sum P of its terms by at
    most g S, g = γ_(n+r).  A rounding of an addition has |P| <= H = min(S, (S + |y|) / 2): for the terms in P and the
    terms outside, |P| + |y - P| <= S and |P| <= |y| + |y - P|; the last addition has P = y.  The roundings of scales
    add up to at most r S (1 + g).  So for n >= 2

        |error| <= r u S + (n - 2) u H + u |y| + (n - 1 + r) u g S + (n r + n) (1 + g) W least.

    The last part is of underflow: a rounding of a term is off by `least` more, is multiplied by the factors that follow
    it, of which W bounds the product (`Factors`), and later roundings let that grow by 1 + g (theorems
    bounds.sum-underflow, sum-roundings, folded-constant and factors-left).

    Where no term passes more than `depth` additions the error is also at most γ_(r + depth) S, plus the same last term.

    Args:
        rounding_format: the format of products and partial sums.
        order: the order of the additions.
        terms: n.
        scalings: r.
        absolute: S, of the computed operands.
        result: a bound of |y|, of the computed operands.
        least: W times the absolute error of a rounding that underflows, times its `enlargement`.
        depth: the additions a term passes at most, `inf` where not limited.
    """
    u, n, r = rounding_format.unit, terms, scalings
    g = (n + r) * u / (1 - (n + r) * u) if (n + r) * u < 1 else inf
    if g == inf:
        return np.full(np.shape(absolute), inf)
    half = max(n - 2, 0) * u / 2  # (n - 2) u H, with H = (S + |y|) / 2
    bound = (r * u + (n - 1 + r) * u * g + half) * absolute
    if n > 1:
        bound += (half + u) * result
    if order.kind != "any" and (r + depth) * u < 1:
        steps = (r + depth) * u
        bound = np.minimum(bound, steps / (1 - steps) * absolute)
    return grown(bound + roundings(n, r) * least * (1 + g), 12, over=True)


def rounding_error(rounding_format: RoundingFormat, values: Array, least: float) -> Array:
    """The error of one rounding of a number of at most this absolute value: u |v| or `least`, whichever counts."""
    return grown(rounding_format.unit * values + least, 2)


def steps_error(rounding_format: RoundingFormat, values: Array, steps: float, absolute: float, least: float) -> Array:
    """The error of a function that is within `steps` units in the last place, or an absolute error, of its value.

    A unit in the last place of a number v is at most 2 u |v|, and at least the least subnormal number.
    """
    return grown(2 * steps * rounding_format.unit * values + (steps * rounding_format.tiny + absolute + least), 6)
