"""Real functions to many digits by means that are not MPFR: the decimal module's exp and ln, and series.

Every function takes exact fractions and gives a fraction whose relative error is far below that of any rounding asked
about.  `fits` says whether a bit pattern is a number nearest to it.
"""

from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt

from tests.support.oracle import FLOATS, rank

DIGITS = 120
MANY = Context(prec=DIGITS, Emax=10**9, Emin=-(10**9))
LESS = Fraction(1, 10 ** (DIGITS - 40))
"""The relative error results are taken to have."""


def decimal(value):
    return MANY.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(x):
    return Fraction(MANY.exp(decimal(x)))


def log(x):
    return Fraction(MANY.ln(decimal(x)))


def sqrt(x):
    scale = 10 ** (2 * DIGITS)
    return Fraction(isqrt(x.numerator * x.denominator * scale), x.denominator * 10**DIGITS)


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x > -2000 else exp(x)


def tanh(x):
    if abs(x) < Fraction(1, 10**12):  # the difference below has lost its digits: two terms of the series
        return x - x**3 / 3 + 2 * x**5 / 15
    return (1 - exp(-2 * x)) / (1 + exp(-2 * x)) if x > 0 else -tanh(-x)


def softplus(x):
    if x > 200:
        return x + exp(-x)
    power = exp(x)
    return log(1 + power) if power > Fraction(1, 10**30) else power - power**2 / 2


def power(a, b):
    return exp(b * log(a))


def cut(value):
    """A fraction of few digits, for series."""
    return Fraction(round(value * 10**DIGITS), 10**DIGITS)


def arctan(x):
    """For 0 <= x <= 1: the argument is halved until the series is fast."""
    halved = 0
    while x > Fraction(1, 64):
        x, halved = cut(x / (1 + sqrt(1 + x * x))), halved + 1
    total, term, n = Fraction(0), x, 0
    while abs(term) > Fraction(1, 10 ** (DIGITS + 5)):
        total += term / (2 * n + 1) * (-1) ** n
        term, n = cut(term * x * x), n + 1
    return total * 2**halved


PI = 4 * (4 * arctan(Fraction(1, 5)) - arctan(Fraction(1, 239)))
"""Machin."""


def acos(x):
    """2 arctan(sqrt((1 - x) / (1 + x))), on the side where the argument is at most 1."""
    if x < 0:
        return PI - acos(-x)
    return 2 * arctan(sqrt((1 - x) / (1 + x)))


def sin(x):
    """Of any argument the types have up to 2^60, by reduction with PI."""
    turns = round(x / PI)
    rest = x - turns * PI
    total, term, n = Fraction(0), rest, 1
    while abs(term) > abs(rest) / 10 ** (DIGITS - 10):
        total += term
        n += 2
        term = -Fraction(decimal(term * rest * rest)) / (n * (n - 1))
    return total * (-1) ** turns


def erf(x):
    """2 / sqrt(pi) times the series, which alternates."""
    total, term, n = Fraction(0), x, 0
    while abs(term) > abs(x) / 10 ** (DIGITS - 20):
        total += term / (2 * n + 1)
        n += 1
        term = -Fraction(decimal(term * x * x)) / n
    return 2 * total / sqrt(PI)


def softmax(x):
    powers = [exp(each - max(x)) for each in x]
    return [each / sum(powers) for each in powers]


# ------------------------------------------------------------------ nearest


def fits(name, pattern, value):
    """Whether the number with these bits is one nearest to a real that is not zero, and of its sign."""
    exponent_bits, significand_bits = FLOATS[name]
    sign = 1 << exponent_bits + significand_bits
    if (pattern >= sign) != (value < 0):
        return False
    magnitude, real = pattern & sign - 1, abs(value)
    infinity = (2**exponent_bits - 1) << significand_bits
    if magnitude > infinity:
        return False
    past = Fraction(2) ** (2 ** (exponent_bits - 1))

    def number(each):
        return past if each == infinity else rank(name, each)[1]

    low = (number(magnitude - 1) + number(magnitude)) / 2 if magnitude else Fraction(0)
    if real * (1 + LESS) < low:
        return False
    return magnitude == infinity or real * (1 - LESS) <= (number(magnitude) + number(magnitude + 1)) / 2
