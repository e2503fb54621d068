"""Types of at most eight bits against ml_dtypes, which converts them by code of its own, and against ONNX's tables."""

from math import copysign, inf, isnan, nan

import numpy
import pytest

import sonnx
from sonnx.executor.distance import first_difference
from sonnx.numerics import small_floats
from sonnx.numerics.formats import ELEMENTS, NAMES, is_small_float, widened
from tests.support.cases import each_case
from tests.support.oracle import same

SMALL = [name for name, kind in ELEMENTS.items() if is_small_float(kind)]
SIGNED = [name for name in SMALL if name != small_floats.EXPONENTS]
EIGHT = [name for name in SIGNED if name.startswith("float8")]


def rounded(values, name, **options):
    """The numbers of a type, from Python's."""
    return small_floats.rounded(values, ELEMENTS[name], (len(values),), **options)


def around(name):
    """Every number of a type, what lies halfway between two, and the float next to that on both sides."""
    numbers = numpy.unique([each for each in small_floats.numbers(name) if numpy.isfinite(each)])
    last = numbers[-1] + (numbers[-1] - numbers[-2])  # the number that would follow, and the one before the first
    numbers = numpy.concatenate([[-last], numbers, [last]]).astype("f4")
    halves = (numbers[1:] + numbers[:-1]) / numpy.float32(2)
    beside = [numpy.nextafter(halves, numpy.float32(end)) for end in (-inf, inf)]
    return numpy.concatenate([numbers, halves, *beside])


@each_case("name", SMALL)
def test_the_number_of_every_pattern(name):
    numbers = numpy.array(small_floats.numbers(name))
    patterns = numpy.arange(numbers.size, dtype="u1").view(ELEMENTS[name])
    assert first_difference(widened(patterns), numbers.astype("f4")) is None
    finite = [each for each in numbers.tolist() if numpy.isfinite(each)]
    back = rounded(finite, name)
    assert same(widened(back), numpy.array(finite, "f4"))


@each_case("name", SIGNED)
def test_rounding_to_the_nearest(name):
    values = around(name)
    with numpy.errstate(all="ignore"):
        wanted = values.astype(ELEMENTS[name])
    found = rounded(values.tolist(), name, saturate=False)
    assert same(found, wanted)
    greatest = max(each for each in small_floats.numbers(name) if each < inf)
    beyond = ~numpy.isfinite(widened(wanted))
    assert beyond.any() == (name in EIGHT)
    saturated = widened(rounded(values.tolist(), name))
    assert same(saturated, numpy.where(beyond, numpy.copysign(numpy.float32(greatest), values), widened(wanted)))


TABLE = {
    "float8e4m3fn": {inf: 0x7E, -inf: 0xFE, 500.0: 0x7E, -500.0: 0xFE, 464.0: 0x7E},
    "float8e4m3fnuz": {inf: 0x7F, -inf: 0xFF, 500.0: 0x7F, -500.0: 0xFF},
    "float8e5m2": {inf: 0x7B, -inf: 0xFB, 1e6: 0x7B, -1e6: 0xFB},
    "float8e5m2fnuz": {inf: 0x7F, -inf: 0xFF, 1e6: 0x7F, -1e6: 0xFF},
    "float4e2m1": {inf: 0x7, -inf: 0xF, 7.0: 0x7, -7.0: 0xF, 5.0: 0x6, 0.25: 0x0},
    "float6e2m3": {inf: 0x1F, -inf: 0x3F, 25.0: 0x1F},
    "float6e3m2": {inf: 0x1F, -inf: 0x3F, 25.0: 0x1E},
}
"""Patterns by the tables of Cast and of the pages on these types, with saturation."""

UNSATURATED = {
    "float8e4m3fn": {inf: 0x7F, -inf: 0xFF, 500.0: 0x7F, -500.0: 0xFF, nan: 0x7F, copysign(nan, -1): 0xFF},
    "float8e4m3fnuz": {inf: 0x80, -inf: 0x80, 500.0: 0x80, nan: 0x80},
    "float8e5m2": {inf: 0x7C, -inf: 0xFC, 1e6: 0x7C, -1e6: 0xFC},
    "float8e5m2fnuz": {inf: 0x80, -inf: 0x80, 1e6: 0x80, nan: 0x80},
}


@each_case("name", SIGNED)
def test_the_tables_of_onnx(name):
    for saturate, table in ((True, TABLE), (False, UNSATURATED)):
        values = table.get(name, {})
        assert rounded(list(values), name, saturate=saturate).view("u1").tolist() == list(values.values())
    kept = [0, small_floats.SMALL_FLOATS[name].sign if not name.endswith("fnuz") else 0]
    assert rounded([0.0, -0.0], name).view("u1").tolist() == kept
    [made] = widened(rounded([nan], name)).tolist()
    if name in EIGHT:
        assert isnan(made)
    elif name == "float4e2m1":
        assert made == 6, "Float stored in 4 bits: NaN becomes 6"
    else:
        assert copysign(1, made) == -1, "Float stored in 6 bits: NaN becomes -0"
        assert made == 0


@each_case(
    ("saturate", "mode", "values", "wanted"),
    [
        (True, "up", [0.0, 0.124, 0.25, 1.1, inf, 2.0**-130, 2.0**127 * 1.5], [0, 124, 125, 128, 254, 0, 254]),
        (True, "down", [1.9, 2.0, 2.1], [127, 128, 128]),
        (False, "nearest", [0.0, 1.4, 1.5, inf, 2.0**-130, 2.0**127 * 1.5, nan], [255, 127, 128, 255, 255, 255, 255]),
        (True, "nearest", [nan, 3.0, 2.9], [255, 129, 128]),
    ],
)
def test_powers_of_two(saturate, mode, values, wanted):
    assert rounded(values, small_floats.EXPONENTS, saturate=saturate, mode=mode).view("u1").tolist() == wanted


@each_case("value", [-1, -0.0, -inf])
def test_what_no_power_of_two_stands_for(value):
    with pytest.raises(sonnx.NotExecutable, match="no text gives one"):
        rounded([value], small_floats.EXPONENTS)


def test_every_type_has_a_layout():
    assert {*small_floats.SMALL_FLOATS, small_floats.EXPONENTS} == {*SMALL} == {NAMES[ELEMENTS[name]] for name in SMALL}
