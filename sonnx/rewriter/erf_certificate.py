"""How far the rational function that replaces Erf is from erf, for every real number: certified, not sampled.

E(x) = c P(c²) / Q(c²), c = x between -4 and 4, brought between -1 and 1; the coefficients are those of Eigen's erf for
float32.  The distance D = E - erf is odd.  On a part of [0, 4] with the centre m and the half width h it is at most
|D(m)| + h |D'(m)| + h² / 2 sup |D''|: the first two are evaluated with 160 bits, the last by interval arithmetic on
wider parts.  Beyond 4 both are between erf(4) and 1.  `tests/rewriter/test_approximations.py` computes the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

P = (-1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05, -2.10102402082508e-06,
     2.77068142495902e-08, -2.72614225801306e-10)  # fmt: skip
"""The coefficients of c, c³, c⁵ … of the numerator."""
Q = (-1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04, -1.45660718464996e-05)
"""The coefficients of 1, c², c⁴ … of the denominator."""
NUMERATOR, DENOMINATOR = (tuple(float(np.float32(number)) for number in numbers) for numbers in (P, Q))
"""The same as numbers of float32."""

LIMIT = 4
"""Beyond it the function is constant."""

ERF_ERROR = 6.93e-8
"""At least |E(x) - erf(x)| for every real x; see `certified_error`."""

PARTS, WIDE_PARTS = 1 << 16, 1 << 10
"""Parts of [0, 4] on which the distance is evaluated, and on which its second derivative is enclosed."""
BITS, ALLOWANCE = 160, Fraction(1, 10**30)
"""The precision of the evaluation, and more than what its roundings change."""

Range = tuple[Fraction, Fraction]


def certified_error() -> Fraction:
    """An upper bound of |E(x) - erf(x)| over the real numbers."""
    import gmpy2  # only the certificate needs it here

    with gmpy2.context(gmpy2.get_context(), precision=BITS):
        half, most = Fraction(LIMIT, 2 * PARTS), Fraction(0)
        curvatures = [_curvature(k) for k in range(WIDE_PARTS)]
        for k in range(PARTS):
            centre = (2 * k + 1) * half
            value, slope = _distance(gmpy2, centre)
            curvature = curvatures[k * WIDE_PARTS // PARTS]
            most = max(most, value + half * slope + half * half / 2 * curvature)
        beyond = 1 - _exact(gmpy2.erf(gmpy2.mpfr(LIMIT)))
    return max(most, beyond) + ALLOWANCE


def _exact(number: Any) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def _distance(gmpy2: Any, x: Fraction) -> tuple[Fraction, Fraction]:
    """|D| and |D'| at a point, up to roundings of the last bits."""
    c = gmpy2.mpfr(x.numerator) / x.denominator
    square = c * c
    p, dp = _polynomial(NUMERATOR, square)
    q, dq = _polynomial(DENOMINATOR, square)
    value = c * p / q - gmpy2.erf(c)
    slope = p / q + 2 * square * (dp * q - p * dq) / (q * q) - 2 / gmpy2.sqrt(gmpy2.const_pi()) * gmpy2.exp(-square)
    return abs(_exact(value)) + ALLOWANCE, abs(_exact(slope)) + ALLOWANCE


def _polynomial(coefficients: Sequence[float], t: Any) -> tuple[Any, Any]:
    """The value and the derivative by Horner's rule."""
    value = derivative = 0 * t
    for coefficient in reversed(coefficients):
        derivative = derivative * t + value
        value = value * t + coefficient
    return value, derivative


# ------------------------------------------------------------------ the second derivative, by intervals


def _curvature(part: int) -> Fraction:
    """An upper bound of |D''| on one of the wide parts: of |E''| by intervals, and |erf''| ≤ 4 / √π x e^(-x²) ≤ 1."""
    x = (Fraction(LIMIT * part, WIDE_PARTS), Fraction(LIMIT * (part + 1), WIDE_PARTS))
    p, q = _odd_or_even(NUMERATOR, 1), _odd_or_even(DENOMINATOR, 0)
    (n, n1, n2), (d, d1, d2) = (_derivatives(powers, x) for powers in (p, q))
    if d[0] <= 0 <= d[1]:
        raise ArithmeticError("the denominator has a zero in an interval")
    inverse = (1 / d[1], 1 / d[0])
    # E'' = n'' / d - (2 n' d' + n d'') / d² + 2 n d'² / d³
    first = _times(n2, inverse)
    second = _times(_plus(_times((Fraction(2), Fraction(2)), _times(n1, d1)), _times(n, d2)), _times(inverse, inverse))
    third = _times(_times((Fraction(2), Fraction(2)), n), _times(_times(d1, d1), _power(inverse, 3)))
    low, high = _plus(_plus(first, (-second[1], -second[0])), third)
    return max(abs(low), abs(high)) + 1


def _odd_or_even(coefficients: Sequence[float], start: int) -> dict[int, Fraction]:
    """A polynomial by powers."""
    return {start + 2 * k: Fraction(coefficient) for k, coefficient in enumerate(coefficients)}


def _derivatives(powers: dict[int, Fraction], x: Range) -> list[Range]:
    """The ranges of a polynomial and of its first and second derivatives on a part of the positive numbers."""
    found = []
    for _ in range(3):
        low = high = Fraction(0)
        for power, coefficient in powers.items():
            ends = sorted((coefficient * x[0] ** power, coefficient * x[1] ** power))
            low, high = low + ends[0], high + ends[1]
        found.append((low, high))
        powers = {power - 1: power * coefficient for power, coefficient in powers.items() if power}
    return found


def _plus(first: Range, second: Range) -> Range:
    return first[0] + second[0], first[1] + second[1]


def _times(first: Range, second: Range) -> Range:
    products = [one * other for one in first for other in second]
    return min(products), max(products)


def _power(base: Range, exponent: int) -> Range:
    result = base
    for _ in range(exponent - 1):
        result = _times(result, base)
    return result
