"""Rounding with a bound: what is decided is right, and little stays undecided.  The oracle is exact fractions."""

import random
from fractions import Fraction

import ml_dtypes
import numpy

from sonnx.numerics.certified_rounding import certify, certify_singles, half_width
from sonnx.numerics.rounding import to_nearest
from tests.support.cases import each_case, examples
from tests.support.exact import rounded
from tests.support.oracle import FLOATS, KINDS

FORMATS = ("float16", "bfloat16", "float32")
each_format = each_case("name", FORMATS)


def bits(values):
    return values.view(f"u{values.itemsize}").tolist()


def numbers(name, count):
    """Values around every edge of a format: boundaries between elements, subnormals, overflow, zeros."""
    draw, kind = random.Random(name), KINDS[name]
    exponent_bits, significand_bits = FLOATS[name]
    infinity = (2**exponent_bits - 1) << significand_bits
    for _ in range(count):
        pattern = draw.choice([draw.randrange(infinity), draw.randrange(40), infinity - 1 - draw.randrange(3)])
        low, high = (
            float(numpy.array(each, f"u{kind.itemsize}").view(kind))
            if each < infinity
            else 2.0**2 ** (exponent_bits - 1)
            for each in (pattern, pattern + 1)
        )
        middle = (low + high) / 2  # exact
        near = middle * (1 + draw.choice([0, 0, 1, -1, 3, -5]) * 2.0 ** -draw.choice([52, 50, 40, 30, 20]))
        yield draw.choice([1, -1]) * draw.choice([low, middle, near, near])


@each_format
def test_nearest(name):
    values = list(numbers(name, examples(1500, 4000)))
    found = bits(to_nearest(numpy.array(values), KINDS[name]))
    for value, pattern in zip(values, found, strict=True):
        sign = value == 0 and numpy.signbit(value)
        assert pattern == (rounded(name, Fraction(value)) | sign << 8 * KINDS[name].itemsize - 1), value.hex()


def test_nearest_takes_every_finite_16_bit_value_to_itself():
    for kind in (numpy.dtype(numpy.float16), numpy.dtype(ml_dtypes.bfloat16)):
        everything = numpy.arange(65536, dtype="u2").view(kind)
        with numpy.errstate(all="ignore"):
            finite = everything[numpy.isfinite(everything)]
        assert bits(to_nearest(finite.astype("f8"), kind)) == bits(finite)


@each_format
def test_what_is_decided_is_right_at_both_ends_and_inside(name):
    draw = random.Random(name)
    values = numpy.array(list(numbers(name, examples(1500, 4000))))
    bound = numpy.array(
        [abs(value) * draw.choice([0.5, 1.0, 3.0]) * 2.0 ** -draw.choice([53, 52, 45, 30]) for value in values]
    )
    bound += numpy.array([draw.choice([0, 0, 1, 7]) * 2.0**-1074 for _ in values])
    found, undecided = certify(values, bound, KINDS[name])
    sure = 0
    for a, b, pattern, open_ in zip(values.tolist(), bound.tolist(), bits(found), undecided.tolist(), strict=True):
        if open_ or b == 0:
            continue
        sure += 1
        for v in (Fraction(a) - Fraction(b), Fraction(a), Fraction(a) + Fraction(b)):
            assert rounded(name, v) == pattern, (a.hex(), b.hex())
    assert sure > 200


@each_format
def test_what_stays_open_has_two_answers_within_a_slightly_wider_bound(name):
    values = numpy.array(list(numbers(name, examples(1500, 4000))))
    bound = numpy.abs(values) * 2.0**-45
    _, undecided = certify(values, bound, KINDS[name])
    assert undecided.any()
    for a, b in zip(values[undecided].tolist(), bound[undecided].tolist(), strict=True):
        half = Fraction(b) * (1 + Fraction(1, 2**4)) + Fraction(1, 2**1070)
        assert rounded(name, Fraction(a) - half) != rounded(name, Fraction(a) + half) or abs(a) <= half


@each_format
def test_bound_zero_decides_everything_and_keeps_the_sign_of_zero(name):
    values = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 1e-300, -1e-300, 1e300])
    for bound in (0.0, numpy.zeros(9)):
        found, undecided = certify(values, bound, KINDS[name])
        assert not undecided.any()
        assert numpy.signbit(found.astype("f8")).tolist() == [
            False,
            True,
            False,
            True,
            False,
            False,
            False,
            True,
            False,
        ]
        assert numpy.isnan(found.astype("f8")).tolist() == [False] * 4 + [True] * 2 + [False] * 3
        assert numpy.isinf(found.astype("f8")).tolist() == [False] * 2 + [True] * 2 + [False] * 4 + [True]


@each_format
def test_what_no_bound_can_decide(name):
    values = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 1.0, 1.0, 0.0, 1e-320])
    bound = numpy.array([1.0, 1.0, 1.0, numpy.inf, numpy.nan, 5e-324, 1e-320])
    assert certify(values, bound, KINDS[name])[1].all()


@each_format
def test_an_underflow_of_known_sign_is_a_zero_of_that_sign(name):
    found, undecided = certify(numpy.array([1e-100, -1e-100]), 1e-101, KINDS[name])
    assert not undecided.any()
    assert numpy.signbit(found.astype("f8")).tolist() == [False, True]


def test_certain_decides_as_decided_does_and_no_zero():
    """Rows with one half width each, wider than each element needs; the oracle is exact fractions at both ends."""
    draw = random.Random(5)
    values = numpy.array(sorted(numbers("float32", 4000), key=abs)).reshape(40, 100)
    values[numpy.abs(values) > 1e38] = 0
    largest = numpy.abs(values).max(axis=1, keepdims=True)
    bound = largest * numpy.array([[draw.choice([0.0, 1.0, 2.0**12]) * 2.0**-53] for _ in range(40)])
    out, high = numpy.empty((2, *values.shape), "f4")
    open_ = certify_singles(values, half_width(bound, largest), out, high)
    settled = numpy.flatnonzero(~open_)
    assert len(settled) > 1000
    rows = bound.repeat(100, axis=1).reshape(-1)
    for at in settled.tolist():
        value, width, found = values.flat[at], Fraction(rows[at]), bits(out.reshape(-1)[at : at + 1])[0]
        assert value != 0
        assert {rounded("float32", Fraction(value) + end) for end in (-width, width)} == {found}
