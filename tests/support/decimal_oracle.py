"""Real functions to many digits by means that are not MPFR: the decimal module's exp and ln, and series.

Every function takes exact fractions and returns a fraction whose relative error is far below that of any rounding that
is tested.  `fits` tells whether a bit pattern is a number nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt

from tests.support.oracle import FLOATS, number, scaled

DIGITS = 120
CONTEXT = Context(prec=DIGITS, Emax=10**9, Emin=-(10**9))
RELATIVE_ERROR = Fraction(1, 10 ** (DIGITS - 40))
"""The relative error results are taken to have."""


def decimal(value: Fraction) -> Decimal:
    """The fraction as a decimal of many digits."""
    return CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(x: Fraction) -> Fraction:
    """e^x."""
    return Fraction(CONTEXT.exp(decimal(x)))


def log(x: Fraction) -> Fraction:
    """ln x."""
    return Fraction(CONTEXT.ln(decimal(x)))


def sqrt(x: Fraction) -> Fraction:
    """The square root."""
    scale = 10 ** (2 * DIGITS)
    return Fraction(isqrt(x.numerator * x.denominator * scale), x.denominator * 10**DIGITS)


def sigmoid(x: Fraction) -> Fraction:
    """1 / (1 + e^-x)."""
    return 1 / (1 + exp(-x)) if x > -2000 else exp(x)


def tanh(x: Fraction) -> Fraction:
    """tanh x."""
    if abs(x) < Fraction(1, 10**12):  # the difference below has lost its digits: two terms of the series
        return x - x**3 / 3 + 2 * x**5 / 15
    return (1 - exp(-2 * x)) / (1 + exp(-2 * x)) if x > 0 else -tanh(-x)


def softplus(x: Fraction) -> Fraction:
    """ln(1 + e^x)."""
    if x > 200:
        return x + exp(-x)
    power = exp(x)
    return log(1 + power) if power > Fraction(1, 10**30) else power - power**2 / 2


def power(a: Fraction, b: Fraction) -> Fraction:
    """a^b."""
    return exp(b * log(a))


def cut(value: Fraction) -> Fraction:
    """A fraction of few digits, for series."""
    return Fraction(round(value * 10**DIGITS), 10**DIGITS)


def arctan(x: Fraction) -> Fraction:
    """For 0 <= x <= 1: the argument is halved until the series is fast."""
    halved = 0
    while x > Fraction(1, 64):
        x, halved = cut(x / (1 + sqrt(1 + x * x))), halved + 1
    total, term, n = Fraction(0), x, 0
    while abs(term) > Fraction(1, 10 ** (DIGITS + 5)):
        total += term / (2 * n + 1) * (-1 if n % 2 else 1)
        term, n = cut(term * x * x), n + 1
    return total * (1 << halved)


PI = 4 * (4 * arctan(Fraction(1, 5)) - arctan(Fraction(1, 239)))
"""Machin."""


def acos(x: Fraction) -> Fraction:
    """2 arctan(sqrt((1 - x) / (1 + x))), on the side where the argument is at most 1."""
    if x < 0:
        return PI - acos(-x)
    return 2 * arctan(sqrt((1 - x) / (1 + x)))


def sin(x: Fraction) -> Fraction:
    """Of any argument the types have up to 2^60, by reduction with PI."""
    turns = round(x / PI)
    rest = x - turns * PI
    total, term, n = Fraction(0), rest, 1
    while abs(term) > abs(rest) / 10 ** (DIGITS - 10):
        total += term
        n += 2
        term = -Fraction(decimal(term * rest * rest)) / (n * (n - 1))
    return -total if turns % 2 else total


def erf(x: Fraction) -> Fraction:
    """2 / sqrt(pi) times the series, which alternates."""
    total, term, n = Fraction(0), x, 0
    while abs(term) > abs(x) / 10 ** (DIGITS - 20):
        total += term / (2 * n + 1)
        n += 1
        term = -Fraction(decimal(term * x * x)) / n
    return 2 * total / sqrt(PI)


def softmax(x: Sequence[Fraction]) -> list[Fraction]:
    """The shares of a slice."""
    powers = [exp(each - max(x)) for each in x]
    return [each / sum(powers) for each in powers]


def fits(name: str, pattern: int, value: Fraction) -> bool:
    """Whether the number with these bits is one nearest to a real that is not zero, and of its sign."""
    exponent_bits, significand_bits = FLOATS[name]
    sign = 1 << exponent_bits + significand_bits
    if (pattern >= sign) != (value < 0):
        return False
    magnitude, real = pattern & sign - 1, abs(value)
    infinity = (2**exponent_bits - 1) << significand_bits
    if magnitude > infinity:
        return False

    def bound_of(each: int) -> Fraction:
        return scaled(1, 2 ** (exponent_bits - 1)) if each == infinity else Fraction(number(name, each))

    low = (bound_of(magnitude - 1) + bound_of(magnitude)) / 2 if magnitude else Fraction(0)
    if real * (1 + RELATIVE_ERROR) < low:
        return False
    return magnitude == infinity or real * (1 - RELATIVE_ERROR) <= (bound_of(magnitude) + bound_of(magnitude + 1)) / 2
