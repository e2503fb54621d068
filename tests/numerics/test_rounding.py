"""One rounding to nearest even, against fractions compared one by one and against the conversions of Python itself."""

import itertools
import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.numerics import rounding
from tests.support.cases import each_case, examples, spread
from tests.support.oracle import FLOATS, KINDS, bits, number, special_patterns


def neighbours(name):
    """All numbers of a 16-bit type with both signs of zero, ascending, with the first number past the largest."""
    exponent_bits, significand_bits = FLOATS[name]
    infinity = (2**exponent_bits - 1) << significand_bits
    positive = [(Fraction(number(name, pattern)), pattern) for pattern in range(infinity)]
    past = Fraction(2) ** (2 ** (exponent_bits - 1))
    return [*positive, (past, infinity)]


@each_case("name", ["float16", "bfloat16"])
def test_between_all_neighbours(name):
    """At every number, at every midpoint, and a hair off the midpoint to either side; in part outside a deep run."""
    hair = Fraction(1, 2**400)
    ordered = neighbours(name)
    for (low, below), (high, above) in spread(itertools.pairwise(ordered), 8000):
        middle, even = (low + high) / 2, below if below % 2 == 0 else above
        for value, wanted in ((low, below), (middle - hair, below), (middle, even), (middle + hair, above)):
            assert rounding.nearest(value, KINDS[name]) == wanted
            if value:
                assert rounding.nearest(-value, KINDS[name]) == wanted | 0x8000
    assert rounding.nearest(ordered[-1][0] * 9**99, KINDS[name]) == ordered[-1][1]


def test_the_sign_of_zero():
    kind = KINDS["float32"]
    assert rounding.nearest(0, kind) == 0
    assert rounding.nearest(0, kind, negative_zero=True) == 0x80000000
    assert rounding.nearest(Fraction(-1, 2**200), kind) == 0x80000000
    assert rounding.nearest(Fraction(1, 2**200), kind, negative_zero=True) == 0


@settings(max_examples=examples(200, 600), deadline=None)
@given(st.integers(-(2**140), 2**140), st.integers(-1300, 1100))
def test_double_and_float_as_python_converts_them(significand, exponent):
    """Division of whole numbers is correctly rounded in Python; float from double is, where double is exact."""
    numerator, denominator = (significand << max(exponent, 0)), 1 << max(-exponent, 0)
    try:
        wanted = numerator / denominator
    except OverflowError:
        wanted = float("inf") if numerator > 0 else float("-inf")
    found = rounding.nearest_ratio(numerator, denominator, KINDS["float64"])
    assert found == struct.unpack("<Q", struct.pack("<d", wanted))[0]
    if abs(wanted) != float("inf") and Fraction(numerator, denominator) == Fraction(wanted):
        with numpy.errstate(all="ignore"):
            narrow = numpy.float64(wanted).astype("f4")
        assert rounding.nearest_ratio(numerator, denominator, KINDS["float32"]) == narrow.view("u4")


@each_case("name", FLOATS)
def test_numbers_come_back(name):
    """Every finite pattern (of wide types the special ones) is the exact value it is rounded from."""
    kind = KINDS[name]
    for pattern in range(65536) if kind.itemsize == 2 else special_patterns(name):
        value = number(name, pattern)
        assert rounding.pattern_is_nan(pattern, kind) == math.isnan(value)
        assert rounding.pattern_is_infinite(pattern, kind) == math.isinf(value)
        if math.isfinite(value):
            assert rounding.real(pattern, kind) == value
            negative = rounding.pattern_is_negative(pattern, kind)
            assert rounding.nearest(Fraction(value), kind, negative_zero=negative) == pattern
    assert rounding.pattern_is_nan(rounding.nan_of(kind), kind)


@each_case("name", FLOATS)
def test_narrow_rounds_once(name):
    """Double to each type: midpoints of all neighbours of 16-bit types, with the nearest doubles, and random ones."""
    kind = KINDS[name]
    draw = numpy.random.default_rng(3)
    some = draw.integers(0, 2**64, 4000, "u8").view("f8")
    some = numpy.concatenate([some, (draw.standard_normal(4000) * 2.0 ** draw.integers(-160, 140, 4000)), [0.0, -0.0]])
    if kind.itemsize == 2:
        ordered = neighbours(name)
        pairs = spread(itertools.pairwise(ordered), 8000)
        middles = numpy.array([float(low + high) / 2 for (low, _), (high, _) in pairs])
        middles = numpy.concatenate([middles, numpy.nextafter(middles, 0), numpy.nextafter(middles, numpy.inf)])
        some = numpy.concatenate([some, middles, -middles])
    with numpy.errstate(all="ignore"):
        found = bits(rounding.narrow(some, kind)).tolist()
    for value, pattern in zip(some.tolist(), found, strict=True):
        if value != value:
            assert rounding.pattern_is_nan(pattern, kind)
        elif abs(value) == float("inf"):
            assert rounding.pattern_is_infinite(pattern, kind)
            assert rounding.pattern_is_negative(pattern, kind) == (value < 0)
        else:
            assert pattern == rounding.nearest(Fraction(value), kind, negative_zero=str(value)[0] == "-")


def test_halved_is_not_the_way_through_float32():
    """A double just above the middle of two bfloat16: through float32 it would become the middle, and then even."""
    value = numpy.array([1 + 2.0**-8 + 2.0**-40])
    assert bits(rounding.narrow(value, KINDS["bfloat16"]))[0] == 0x3F81
    assert bits(value.astype("f4").astype(ml_dtypes.bfloat16))[0] == 0x3F80
