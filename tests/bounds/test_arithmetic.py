"""Outward arithmetic against exact fractions: each bound holds, and is not wider than its docstring says."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from math import inf
from typing import Any

import numpy as np
import pytest

from sonnx.numerics.enclosures import arithmetic
from sonnx.numerics.enclosures.arithmetic import FORMATS, TINY, UNIT, SumOrder
from tests.support.cases import each_case

NUMBERS = np.array([0.0, -0.0, TINY, -TINY, 1.0, -1.0, 3.0, 0.1, -2.5, 1e-310, -1e-300, 1e300, 2.0**53, -(2.0**-30)])
NUMPY_TYPES = {"float16": np.float16, "float": np.float32, "double": np.float64}


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).reshape(-1)]


def test_formats_are_those_of_numpy() -> None:
    for name, kind in NUMPY_TYPES.items():
        made, info = FORMATS[name], np.finfo(kind)
        assert made.name == name
        assert (made.unit, made.tiny) == (float(info.eps) / 2, float(info.smallest_subnormal))
        assert (made.normal, made.largest) == (float(info.smallest_normal), float(info.max))
    made = FORMATS["bfloat16"]
    assert (made.unit, made.normal, made.tiny) == (2.0**-8, FORMATS["float"].normal, FORMATS["float"].normal * 2.0**-7)
    assert Fraction(made.largest) == (2 - Fraction(1, 128)) * 2**127
    assert (2.0**-53, math.ulp(0.0)) == (UNIT, TINY)


# ------------------------------------------------------------------ growth


@pytest.mark.parametrize("roundings", [0, 1, 2, 5, 100])
def test_growth_is_the_factor_and_the_term_of_the_lemma(roundings: int) -> None:
    """At least x (1 + 2 n UNIT) + n TINY, and less than two roundings more."""
    bounds = np.abs(NUMBERS)
    for before, after in zip(exact(bounds), exact(arithmetic.grown(bounds, roundings)), strict=True):
        unit, tiny = Fraction(UNIT), Fraction(TINY)
        assert after >= before * (1 + 2 * roundings * unit) + roundings * tiny
        assert after <= before * (1 + (2 * roundings + 8) * unit) + (roundings + 3) * tiny


def test_growth_over_the_argument() -> None:
    bounds = np.abs(NUMBERS)
    wanted = arithmetic.grown(bounds, 3)
    assert (bounds == np.abs(NUMBERS)).all()
    assert arithmetic.grown(bounds, 3, over=True) is bounds
    assert (bounds == wanted).all()
    assert arithmetic.grown(1.0, 3, over=True) == arithmetic.grown(np.ones(()), 3)


def test_a_product_with_an_error_of_nothing_is_nothing() -> None:
    with np.errstate(invalid="ignore"):
        found = arithmetic.scaled_error(np.array([inf, 2.0, 0.0]), np.array([0.0, 0.5, 3.0]))
    assert found[0] == 0
    assert 1 < found[1] <= 1 + 2.0**-49
    assert 0 < found[2] <= 4 * TINY


def neighbours(function: Callable[[Any], Any], towards: float) -> None:
    """The next float64 in a direction at least, at most three of them."""
    for value, made in zip(NUMBERS.tolist(), function(NUMBERS).tolist(), strict=True):
        near = math.nextafter(value, towards)
        far = value
        for _ in range(3):
            far = math.nextafter(far, towards)
        assert min(near, far) <= made <= max(near, far), value


def test_one_operation_outward() -> None:
    neighbours(arithmetic.below, -inf)
    neighbours(arithmetic.above, inf)


def test_functions_outward() -> None:
    """A relative error of 2^-45, and an absolute one where values underflow."""
    for value, low, high in zip(
        exact(NUMBERS),
        exact(arithmetic.function_below(NUMBERS)),
        exact(arithmetic.function_above(NUMBERS)),
        strict=True,
    ):
        error = abs(value) / 2**45 + Fraction(arithmetic.UNDERFLOW)
        slack = abs(value) / 2**51 + Fraction(arithmetic.UNDERFLOW) / 2**50
        assert value - error - slack <= low <= value - error + slack
        assert value + error - slack <= high <= value + error + slack
    assert arithmetic.FUNCTION == 2 * 2.0**-46


def test_magnitude() -> None:
    low, high = np.array([-3.0, -1.0, 1.0, -0.0]), np.array([1.0, 2.0, 5.0, 0.0])
    assert arithmetic.magnitude(low, high).tolist() == [3, 2, 5, 0]


def test_centre_and_radius_hold_the_range() -> None:
    low, high = np.meshgrid(NUMBERS, NUMBERS)
    low, high = np.minimum(low, high), np.maximum(low, high)
    middle, radius = arithmetic.centre(low, high)
    for a, b, c, r in zip(exact(low), exact(high), exact(middle), exact(radius), strict=True):
        assert a <= c <= b
        assert c - r <= a
        assert b <= c + r
        assert r <= (b - a) * Fraction(51, 100) + 4 * Fraction(TINY)
        assert (r == 0) == (a == b)


@each_case("count", [1, 2, 1000, 2**29])
def test_roundings_in_a_row(count: int) -> None:
    gamma = count * Fraction(UNIT) / (1 - count * Fraction(UNIT))
    assert gamma <= Fraction(arithmetic.accumulated(count)) <= gamma * (1 + Fraction(1, 2**19))


def test_too_many_roundings_in_a_row() -> None:
    assert arithmetic.accumulated(0) == 0
    assert arithmetic.accumulated(2**30) == inf


# ------------------------------------------------------------------ products in float32


@each_case("scale", [1.0, 1e-90, 1e90, 3.0])
@each_case("terms", [1, 4, 30])
def test_products_of_absolute_values_in_float32(scale: float, terms: int) -> None:
    draw = np.random.default_rng(terms)
    A, B = (draw.standard_normal((3, terms)) * scale, draw.standard_normal((terms, 2)) / 7)
    A[0, 0], B[0, 0] = 0, 1e-40
    a, b = arithmetic.single(A), arithmetic.single(B)
    assert a is not None
    assert b is not None
    assert a.array.dtype == b.array.dtype == np.float32
    assert a.array.max() <= 1
    assert (a.array >= 0).all()
    found = arithmetic.product_above(np.matmul, a, b, terms)
    for i, j in np.ndindex(found.shape):
        wanted = sum(abs(Fraction(x) * Fraction(y)) for x, y in zip(A[i].tolist(), B[:, j].tolist(), strict=True))
        assert (
            wanted
            <= Fraction(found[i, j])
            <= wanted * (1 + Fraction(4 * terms + 40, 2**24))
            + terms * Fraction(a.scale * b.scale * 2.0**-120 + TINY * 4)
        )


def test_values_far_from_one_have_no_float32() -> None:
    assert arithmetic.single(np.array([2.0**400])) is None
    assert arithmetic.single(np.array([0.0, -(2.0**-400)])) is None
    for near in (np.array([-(2.0**399), 1.0]), np.array([2.0**-399]), np.zeros(2), np.zeros(0)):
        made = arithmetic.single(near)
        assert made is not None
        assert np.allclose(made.array.astype(np.float64), np.abs(near) / made.scale, rtol=2.0**-23)
        assert (made.array <= 1).all()


# ------------------------------------------------------------------ errors of roundings and sums


@each_case("name", FORMATS)
def test_errors_of_roundings_and_functions(name: str) -> None:
    made = FORMATS[name]
    values = np.array([0.0, 1.0, 1000.0, made.normal, made.largest])
    unit, tiny = Fraction(made.unit), Fraction(made.tiny)
    for least in (made.tiny, made.normal):
        found = zip(exact(values), exact(arithmetic.rounding_error(made, values, least)), strict=True)
        for value, error in found:
            wanted = unit * value + Fraction(least)
            assert wanted <= error <= wanted * (1 + Fraction(1, 2**45)) + 8 * Fraction(TINY)
        found = zip(exact(values), exact(arithmetic.steps_error(made, values, 2.5, 0.25, least)), strict=True)
        for value, error in found:
            wanted = 2 * Fraction(5, 2) * unit * value + Fraction(5, 2) * tiny + Fraction(1, 4) + Fraction(least)
            assert wanted <= error <= wanted * (1 + Fraction(1, 2**45)) + 16 * Fraction(TINY)


def deepest(lengths: list[int]) -> int:
    """Additions that a term passes where partial sums of these depths are added by pairs, the neighbours first."""
    while len(lengths) > 1:
        pairs = [max(pair) + 1 for pair in zip(lengths[::2], lengths[1::2], strict=False)]
        lengths = pairs + lengths[len(pairs) * 2 :]
    return lengths[0]


@each_case("terms", [1, 2, 3, 4, 5, 8, 9, 16, 17, 33])
def test_depth_of_sums(terms: int) -> None:
    assert SumOrder("any").depth(terms) == inf
    assert SumOrder("pairwise").depth(terms) == deepest([0] * terms)
    for lanes in (1, 2, 3, 8):
        own = [0] * min(lanes, terms)
        for term in range(terms):  # each lane begins with 0 and adds its terms
            own[term % lanes] += 1
        whole = own[0]
        for depth in own[1:]:  # then the lanes are added one after another
            whole = max(whole, depth) + 1
        assert SumOrder("lanes", lanes).depth(terms) == whole


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_summation_breaks_the_bound(seed: int) -> None:
    """Sums of few numbers of float16 in every order, with one rounding of each term before; subnormal numbers too."""
    made, draw = FORMATS["float16"], np.random.default_rng(seed)
    count = 2 + seed % 4
    terms = (draw.standard_normal(count) * 2.0 ** draw.integers(-14, 8, count)).astype(np.float64)
    if seed % 2:
        terms[-1] = -terms[:-1].sum()  # cancellation
    total = sum(map(Fraction, terms.tolist()), Fraction(0))
    absolute, result = np.array(np.abs(terms).sum()), np.array(abs(float(total)))
    bound = arithmetic.sum_error(made, SumOrder("any"), count, 1, absolute, result, made.tiny, inf)
    rounded = terms.astype(np.float16)
    worst = Fraction(0)
    for order in permutations(range(count)):
        sum_ = rounded[order[0]]
        for place in order[1:]:
            sum_ = np.float16(sum_ + rounded[place])
        worst = max(worst, abs(Fraction(float(sum_)) - total))
    assert 0 < worst <= Fraction(float(bound))
    assert bound <= 3 * count * made.unit * absolute + 3 * count * made.tiny


def test_a_sum_of_too_many_terms_has_no_bound() -> None:
    made = FORMATS["bfloat16"]
    few = arithmetic.sum_error(made, SumOrder("any"), 100, 0, np.ones(2), np.ones(2), 0.0, inf)
    assert np.isfinite(few).all()
    assert (arithmetic.sum_error(made, SumOrder("any"), 256, 0, np.ones(2), np.ones(2), 0.0, inf) == inf).all()
    pairwise = arithmetic.sum_error(made, SumOrder("pairwise"), 100, 0, np.ones(2), np.ones(2), 0.0, 7.0)
    assert (pairwise < few).all()
    assert (pairwise >= 7 * made.unit).all()


def test_a_single_term_has_the_roundings_of_its_scales() -> None:
    made = FORMATS["float"]
    none = arithmetic.sum_error(made, SumOrder("any"), 1, 0, np.ones(1), np.ones(1), 0.0, inf)
    one = arithmetic.sum_error(made, SumOrder("any"), 1, 1, np.ones(1), np.ones(1), 0.0, inf)
    assert none[0] <= 2.0**-40 * made.unit
    assert made.unit <= one[0] <= made.unit * (1 + 2.0**-20)
