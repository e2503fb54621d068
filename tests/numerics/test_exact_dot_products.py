"""Dot products of float64 that are added up exactly, against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sonnx.numerics.double_products import exact_dot_products

NUMBERS = (0.0, -0.0, 1.0, -1.0, 3.5, math.nextafter(1, 2), 5e-324, -5e-324, 2.2e-308, 1e-200, -1e-200, 1e200, -1.5e308)


def expected(x: list[float], y: list[float]) -> float:
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True))
    if exact:
        try:
            return exact.numerator / exact.denominator
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
    products = [(a == 0 or b == 0, math.copysign(1, a) * math.copysign(1, b)) for a, b in zip(x, y, strict=True)]
    return -0.0 if all(is_zero and sign < 0 for is_zero, sign in products) else 0.0


@pytest.mark.parametrize("length", range(1, 6))
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_each_sum_is_rounded_once(length: int) -> None:
    """Zeros of both signs, sums that cancel, subnormal and very large numbers."""
    random = np.random.default_rng(length)
    x, y = random.choice(NUMBERS, (2, 400, length))
    x[::4] = np.where(random.random((100, length)) < 0.7, np.copysign(0, x[::4]), x[::4])
    if length > 1:
        x[1::4, 1], y[1::4, 1] = -x[1::4, 0], y[1::4, 0]
    found = exact_dot_products(x, y)
    for row in range(len(x)):
        wanted = expected(x[row].tolist(), y[row].tolist())
        assert (found[row], math.copysign(1, found[row])) == (wanted, math.copysign(1, wanted)), (x[row], y[row])
