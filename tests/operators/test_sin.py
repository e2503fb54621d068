"""The constants of the sine kernel, computed again with fractions; its error against MPFR where digits cancel."""

from fractions import Fraction
from math import cos, factorial, log2, pi

import gmpy2
import numpy

from sonnx.operators import sin


def series(z):
    """sin(r) / r for z = r^2, to far more digits than asked for."""
    return sum(Fraction((-1) ** i, factorial(2 * i + 1)) * z**i for i in range(25))


def test_the_pieces_of_pi():
    with gmpy2.context(precision=200):
        rest = gmpy2.const_pi() - gmpy2.mpfr(sin.PI_HIGH) - gmpy2.mpfr(sin.PI_LOW)
        assert abs(rest) < gmpy2.mpfr(2) ** -86
    assert Fraction(sin.PI_HIGH) * 2**30 % 1 == 0  # at most 32 digits


def test_the_polynomial():
    """It is the one through the Chebyshev points, and as near to the series as its docstring says."""
    end = (pi / 2 * (1 + 2**-20)) ** 2
    points = [Fraction(end / 2 * (1 + cos((2 * i + 1) * pi / 14))) for i in range(7)]
    made = [Fraction(each) for each in sin.POLYNOMIAL]
    for z in points:
        assert abs(sum(a * z**i for i, a in enumerate(made)) - series(z)) < Fraction(1, 2**52)
    steps = [Fraction(end * i / 700) for i in range(701)]
    worst = max(abs(sum(a * z**i for i, a in enumerate(made)) / series(z) - 1) for z in steps)
    assert log2(worst) < -43.5


def test_the_error_of_the_approximation():
    """Around multiples of pi/2, where digits cancel, and elsewhere: below a fourth of the bound."""
    draw = numpy.random.default_rng(6)
    near = numpy.concatenate(
        [numpy.float32(pi / 2 * i) + numpy.float32(2.0**-20) * draw.integers(-9, 9, 7) for i in range(650)]
    )
    x = numpy.concatenate([near, draw.uniform(-1024, 1024, 4000), draw.standard_normal(4000)]).astype("f4").astype("f8")
    y = numpy.empty_like(x)
    sin.approximate(x, y)
    with gmpy2.context(precision=120):
        for one, found in zip(x.tolist(), y.tolist(), strict=True):
            exact = gmpy2.sin(gmpy2.mpfr(one))
            assert abs(gmpy2.mpfr(found) - exact) <= abs(exact) * sin.BOUND.relative / 2
