"""The numpy functions that kernels trust within a bound (docs/trust.md), against MPFR: within a fourth of it."""

import math

import gmpy2
import numpy
import pytest

from sonnx.numerics.certified_rounding import wide_type
from sonnx.numerics.elementwise_kernels import LONG_DOUBLE_BOUND, NUMPY_BOUND
from tests.support.cases import each_case

DRAW = 11

needs_long_double = pytest.mark.skipif(
    wide_type(numpy.dtype("f8")) is None, reason="long double is not wider here: the exact path is taken"
)


def spread(draw, count, low, high):
    """Magnitudes from 2^low to 2^high with both signs, and around 0 and 1."""
    wide = draw.choice([-1, 1], count) * (1 + draw.random(count)) * 2.0 ** draw.integers(low, high, count)
    close = 1 + draw.choice([-1, 1], count) * 2.0 ** -draw.integers(1, 52, count)
    return numpy.concatenate([wide, close, draw.standard_normal(count) * 10])


FUNCTIONS = {
    "exp": (numpy.exp, gmpy2.exp, lambda x: numpy.abs(x) < 700),
    "log": (numpy.log, gmpy2.log, lambda x: x > 0),
    "tanh": (numpy.tanh, gmpy2.tanh, lambda x: True),
    "arccos": (numpy.arccos, gmpy2.acos, lambda x: numpy.abs(x) <= 1),
    "sin": (numpy.sin, gmpy2.sin, lambda x: numpy.abs(x) < 2.0**127),
    "log1p": (numpy.log1p, gmpy2.log1p, lambda x: x > 0),
    "erf": (numpy.vectorize(math.erf, otypes=[float]), gmpy2.erf, lambda x: True),
}


def worst(ours, exact, x, *others):
    """The largest relative error, in units of the bound."""
    with gmpy2.context(precision=140):
        found, largest = ours(x, *others), 0
        for number, arguments in zip(found, zip(x, *others, strict=True), strict=True):
            real = exact(*[gmpy2.mpfr(float(each)) for each in arguments])
            value = whole(number)
            if real != 0 and gmpy2.is_finite(real):
                largest = max(largest, abs((value - real) / real))
            else:
                assert value == real
        return float(largest)


def whole(number):
    """A float64 or long double as an mpfr number, exactly."""
    high = float(number)
    return gmpy2.mpfr(high) + gmpy2.mpfr(float(number - numpy.asarray(number).dtype.type(high)))


def run(name, count):
    ours, exact, inside = FUNCTIONS[name]
    x = spread(numpy.random.default_rng(DRAW), count, -300, 100)
    x = x[numpy.broadcast_to(inside(x), x.shape)]
    x = x[numpy.abs(x) > 2.0**-290]
    assert worst(ours, exact, x) <= NUMPY_BOUND.relative / 4


@each_case("name", FUNCTIONS)
def test_in_float64(name):
    run(name, 2500)


@pytest.mark.campaign
@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_float64_many(name):
    run(name, 3_000_000)


def powers(count):
    draw = numpy.random.default_rng(DRAW)
    x = numpy.abs(spread(draw, count, -126, 127))
    y = draw.permutation(spread(draw, count, -20, 7))
    usual = numpy.abs(y * numpy.log2(x)) < 1000
    return x[usual], y[usual]


def test_power_in_float64():
    assert worst(numpy.power, lambda a, b: a**b, *powers(2500)) <= NUMPY_BOUND.relative / 4


@pytest.mark.skipif(
    wide_type(numpy.dtype("f8")) is None, reason="long double is not wider here: the exact path is taken"
)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "erf"])
def test_in_long_double(name):
    ours, exact, inside = FUNCTIONS[name]
    x = spread(numpy.random.default_rng(DRAW), 1500, -300, 100)
    x = x[numpy.broadcast_to(inside(x), x.shape)]
    assert worst(lambda each: ours(each.astype(numpy.longdouble)), exact, x) <= LONG_DOUBLE_BOUND.relative / 4


@pytest.mark.skipif(
    wide_type(numpy.dtype("f8")) is None, reason="long double is not wider here: the exact path is taken"
)
def test_power_in_long_double():
    def of_long(a, b):
        return numpy.power(a.astype(numpy.longdouble), b.astype(numpy.longdouble))

    assert worst(of_long, lambda a, b: a**b, *powers(1500)) <= LONG_DOUBLE_BOUND.relative / 4
