"""The slopes of a power at the ends of double, in exact arithmetic."""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np

from sonnx.numerics.enclosures.powers import power
from tests.support.cases import each_case


def exact(x: float, p: float) -> Any:
    with gmpy2.context(precision=300):
        wide = gmpy2.mpfr(p)
        return wide * gmpy2.mpfr(x) ** (wide - 1)


@each_case("x", [2.3e-308, 1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_slopes_enclose_those_of_an_exponent_that_float64_rounds(x: float) -> None:
    """P - 1 is rounded where p is small; near the least double that moves the power by more than 2^-45 of it."""
    exponents = np.random.default_rng(1).uniform(0, 2.0 ** np.arange(-60, 1.0))
    points = np.full(exponents.shape, x)
    context: Any = None
    low, high = power(exponents).slopes(context, points, points)
    for p, least, most in zip(exponents.tolist(), low.tolist(), high.tolist(), strict=True):
        wanted = exact(x, p)
        assert least <= wanted <= most, p
        assert most - least <= abs(float(wanted)) * 1e-11 + 1e-300
