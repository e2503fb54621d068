"""The formats of patterns: their numbers are those of ml_dtypes and numpy, and every format is an instance of all."""

from __future__ import annotations

import ml_dtypes
import numpy
import z3

from sonnx.prover.float_patterns import FORMATS, SymbolicFormat, all_formats, bit_format
from tests.support.cases import each_case

TYPES = {"float16": numpy.float16, "bfloat16": ml_dtypes.bfloat16, "float32": numpy.float32, "float64": numpy.float64}


def pattern(value: float, name: str) -> int:
    """The pattern of a number in a format, by the library of the type."""
    number = numpy.array(value, dtype=TYPES[name])
    return int(number.view(f"uint{8 * number.itemsize}"))


def holds(known: list[z3.BoolRef], **numbers: int) -> bool:
    """Whether hypotheses hold for numbers."""
    values = [(z3.Int(name), z3.IntVal(number)) for name, number in numbers.items()]
    return all(z3.is_true(z3.simplify(z3.substitute(each, *values))) for each in known)


@each_case("name", FORMATS)
def test_a_format_has_the_patterns_of_its_type(name: str) -> None:
    stated = bit_format(name)
    assert (stated.sign, stated.infinity) == (pattern(-0.0, name), pattern(numpy.inf, name))
    assert stated.width == 8 * numpy.dtype(TYPES[name]).itemsize
    bits = z3.BitVec("x", stated.width)
    for value in (1.0, -2.5, 0.0, float(ml_dtypes.finfo(TYPES[name]).max), float(numpy.inf)):
        known = z3.substitute(
            stated.number(stated.pattern("x")), (bits, z3.BitVecVal(pattern(value, name), bits.size()))
        )
        sort = z3.FPSort(stated.exponent, stated.significand)
        assert z3.is_true(z3.simplify(z3.fpEQ(known, z3.FPVal(value, sort)))), value


@each_case("name", FORMATS)
def test_every_format_is_an_instance_of_all(name: str) -> None:
    stated = bit_format(name)
    assert holds(all_formats().known, sign=stated.sign, infinity=stated.infinity)


def test_a_format_of_all_has_a_finite_number_and_a_nan() -> None:
    """The least one has the positive patterns 0, 1 (finite), 2 (infinite) and 3 (NaN)."""
    assert holds(all_formats().known, sign=4, infinity=2)
    assert not holds(all_formats().known, sign=3, infinity=2)
    assert not holds(all_formats().known, sign=4, infinity=1)


def test_a_pattern_is_any_number_below_two_signs() -> None:
    stated = all_formats()
    stated.pattern("x")
    for x, inside in ((0, True), (7, True), (4, True), (8, False), (-1, False)):
        assert holds(stated.known, sign=4, infinity=2, x=x) is inside


def below(x: object, sign: object, infinity: object) -> object:
    """0 up to infinity, 1 for all patterns above."""
    return 0 if x <= infinity else 1  # type: ignore[operator]


def test_an_execution_covers_every_pattern() -> None:
    """Also those with the sign: the hypotheses of its obligations admit them, and its value is the function's."""
    stated: SymbolicFormat = all_formats()
    (covered,) = stated.obligations(below)
    x = z3.Int("below0")
    for number in range(8):
        values = {"sign": 4, "infinity": 2, "below0": number}
        assert holds(list(covered.hypotheses), **values)
        value = z3.substitute(stated.value(below, x), *((z3.Int(name), z3.IntVal(n)) for name, n in values.items()))
        assert z3.simplify(value).as_long() == below(number, 4, 2)
    assert not holds(list(covered.hypotheses), sign=4, infinity=2, below0=8)
