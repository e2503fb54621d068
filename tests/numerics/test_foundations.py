"""What kernels stand on, at its edges: by hand, by exact fractions, by numpy's integers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import gmpy2
import numpy
import pytest

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Constants, required
from sonnx.numerics.broadcasting import along_axis
from sonnx.numerics.certified_rounding import UNIT, Bound, certify, certify_block
from sonnx.numerics.correctly_rounded import rounding_context
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.formats import ELEMENTS, has_array, lowest
from sonnx.numerics.matrix_products import integer_product_into, reserve_memory
from sonnx.numerics.packing import packed, unpacked
from sonnx.numerics.patches import WindowPatches
from sonnx.numerics.reductions import fast_reduce_sum
from sonnx.numerics.rounding import pattern_is_infinite
from sonnx.numerics.single_products import PART, _sums_in_two_doubles
from sonnx.numerics.summation import two_product
from sonnx.numerics.windows import windows
from tests.support.applications import application, written
from tests.support.cases import each_case
from tests.support.nodes import by_kernel

SINGLE = numpy.dtype("f4")
TIE = 1 + 2.0**-24
"""Halfway between the floats 1 and 1 + 2^-23."""
ABOVE_ONE = 1 + 2.0**-23


# ------------------------------------------------------------------ arrays that are constant, inputs


def test_forms_are_kept_of_constants_alone():
    constants, held, other = Constants(), numpy.zeros(2), numpy.zeros(2)
    constants.add(held)
    assert constants.form("norms", [held, None], 1, lambda: "first") == "first"
    assert constants.form("norms", [held, None], 1, lambda: "second") == "first"
    assert constants.form("norms", [held, other], 1, lambda: "first") is None
    constants.clear()
    assert constants.form("norms", [held, None], 1, lambda: "first") is None


def test_a_required_input():
    assert required([1, 2, None], 2) == [1, 2]
    for inputs in ([1], [1, None], [None, 2, 3]):
        with pytest.raises(NotExecutable, match="one of the first 2 inputs is left out"):
            required(inputs, 2)


@each_case("number", [-1, 2])
def test_broadcast_is_0_or_1(number):
    with pytest.raises(NotExecutable, match=f"broadcast is {number}"):
        along_axis(written("Add", 6, broadcast=number), (3,), (3,))


def test_a_matrix_is_no_list():
    assert integer_list(numpy.array([4, 5]), "axes") == [4, 5]
    with pytest.raises(NotExecutable, match="of type int64 and rank 2, not a list of integers"):
        integer_list(numpy.zeros((1, 1), numpy.int64), "axes")


# ------------------------------------------------------------------ types


@each_case("rank", [0, 1, 63, 64, 65])
def test_the_rank_of_an_array_is_numpys(rank):
    try:
        numpy.empty((1,) * rank)
    except ValueError:
        assert not has_array((1,) * rank, ELEMENTS["double"])
    else:
        assert has_array((1,) * rank, ELEMENTS["double"])


def test_the_least_element():
    least = {name: lowest(ELEMENTS[name]) for name in ("bool", "int8", "uint8", "float16", "bfloat16")}
    assert least == {"bool": 0, "int8": -128, "uint8": 0, "float16": 0xFC00, "bfloat16": 0xFF80}


def test_an_infinity_is_no_nan():
    assert [pattern_is_infinite(pattern, SINGLE) for pattern in (0x7F800000, 0xFF800000)] == [True, True]
    assert [pattern_is_infinite(pattern, SINGLE) for pattern in (0x7F800001, 0xFFC00000, 0x7F7FFFFF, 0)] == [False] * 4


@each_case(
    ("name", "values", "data"),
    [
        ("int4", [1, -2, 3], b"\xe1\x03"),
        ("uint4", [15, 0, 9, 1], b"\x0f\x19"),
        ("uint2", [1, 2, 3, 0, 2], b"\x39\x02"),
        ("int2", [1, -2, -1], b"\x39"),
        ("int8", [-1, 2], b"\xff\x02"),
        ("uint16", [1, 0x0203], b"\x01\x00\x03\x02"),
        ("float", [1.0, -2.0], b"\x00\x00\x80\x3f\x00\x00\x00\xc0"),
        ("int4", [], b""),
    ],
)
def test_packed_elements(name, values, data):
    """The first element in the lowest bits of the first byte, as onnx.proto says; bytes written by hand."""
    array = numpy.array(values).astype(ELEMENTS[name])
    assert packed(array) == data
    assert unpacked(data, [len(values)], ELEMENTS[name]).tolist() == array.tolist()


# ------------------------------------------------------------------ rounding


def test_a_relative_and_an_absolute_error():
    assert Bound(0.5, 0.25).of(numpy.array([-4.0, 2.0])).tolist() == [2.25, 1.25]
    assert numpy.finfo(numpy.float64).eps == 2 * UNIT


def test_a_bound_of_0_decides_beside_others():
    values, open_ = certify(numpy.array([TIE, TIE, 1.0]), numpy.array([0, 2.0**-60, 2.0**-60]), SINGLE)
    assert values[0] == values[2] == 1
    assert open_.tolist() == [False, True, False]


@each_case("relative", [2.0**-52, 2.0**-46, 2.0**-42])
def test_an_element_alone_is_open_where_it_is_open_beside_others(relative):
    """Doubles at every distance from a tie, each as a block of its own and all together."""
    edge = int(relative * 2**53)
    units = [0, *range(-edge - 2, 3 - edge), *range(edge - 2, edge + 3)]
    y = (numpy.array([TIE]).view(numpy.int64) + numpy.array(units)).view(numpy.float64)
    together = certify_block(y, Bound(relative), numpy.empty(len(y), SINGLE))
    assert together is not None
    assert 0 < numpy.count_nonzero(together) < len(y)
    for k in range(len(y)):
        alone = certify_block(y[k : k + 1], Bound(relative), numpy.empty(1, SINGLE))
        assert (alone is not None) == together[k]


def test_a_subnormal_result_is_rounded_once():
    """2^-15 + 2^-25 + 2^-40 in float16, whose subnormal numbers are multiples of 2^-24."""
    once = rounding_context.__wrapped__(numpy.dtype("f2"))
    assert float(once.add(gmpy2.mpfr(2.0**-15), gmpy2.mpfr(2.0**-25 + 2.0**-40))) == 2.0**-15 + 2.0**-24


def test_a_product_of_two_doubles_is_two_doubles():
    values = numpy.array([1 + 2.0**-52, 3.0000000001, -1 / 3, 2.0**30 + 1, 1e-9])
    for x, y in product(values, values):
        made, error = two_product(numpy.array([x]), numpy.array([y]))
        assert Fraction(made[0]) + Fraction(error[0]) == Fraction(x) * Fraction(y)


# ------------------------------------------------------------------ sums


def test_a_sum_whose_cut_off_parts_cancel_is_added_up_exactly():
    """TIE + 2^-60 + 2^-120 - 2^-60 lies above the tie; in two doubles the least addend is lost."""
    found = _sums_in_two_doubles(numpy.array([[TIE, 2.0**-120, 2.0**-60, -(2.0**-60)], [TIE, 0, 0, 0]]), SINGLE)
    assert found.tolist() == [ABOVE_ONE, 1]


def test_an_open_sum_is_not_halved():
    """The sum of the first row lies 2^-80 above a tie."""
    data = numpy.array([[1, 2.0**-24, 2.0**-80], [1, 1, 1]], "f4")
    made = application("ReduceSum")
    assert fast_reduce_sum(made, data, (1,), mean=False).tolist() == [[ABOVE_ONE], [3]]
    assert made.exact_path_counts.by_operator == {"ReduceSum": (2, 1)}


def test_integers_beyond_the_digits_of_double():
    """Each product is below 2^53, and their sum is odd and above it."""
    A, B = numpy.full((1, 3), 2**26 + 1), numpy.full((3, 1), 2**26 - 1)
    out = numpy.empty((1, 1), numpy.int64)
    integer_product_into(A, B, out)
    assert out.item() == 3 * (2**52 - 1)


def test_the_memory_of_products_is_reserved():
    reserve_memory()


# ------------------------------------------------------------------ patches

TALL = PART + 8
"""Channels of which a kernel of two rows is more than a part of a matrix."""


@each_case(
    ("extents", "kernel", "strides", "dilations", "pads"),
    [
        ((5, 2), (2, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
        ((7, 2), (3, 2), (2, 1), (1, 1), (0, 0, 0, 0)),
        ((9, 2), (3, 1), (2, 1), (3, 1), (1, 0, 1, 0)),
        ((8, 3), (2, 2), (3, 1), (2, 1), (0, 1, 0, 0)),
        ((6, 1), (3, 1), (3, 1), (2, 1), (0, 0, 0, 0)),
    ],
)
def test_patches_by_the_formula_of_convolution(extents, kernel, strides, dilations, pads):
    """Whole numbers, so that float64 adds without an error: rows of kernels times patches, in blocks and one by one."""
    slid = windows(extents, kernel, strides, dilations, list(pads))
    draw = numpy.random.default_rng(3)
    X = draw.integers(-3, 4, (TALL, *extents)).astype("f4")
    W = draw.integers(-3, 4, (2, TALL, *kernel)).astype("f4")
    padded = numpy.pad(X, [(0, 0), *zip(pads[:2], pads[2:], strict=True)]).astype(float)
    wanted = numpy.empty((2, *slid.places))
    for m, *p in numpy.ndindex(wanted.shape):
        axes = zip(p, strides, kernel, dilations, strict=True)
        under = [slice(at * stride, at * stride + (size - 1) * gap + 1, gap) for at, stride, size, gap in axes]
        wanted[(m, *p)] = (padded[(slice(None), *under)] * W[m]).sum()
    patches = WindowPatches(slid, TALL, 1, 2, lambda usual: min(usual, 8 * TALL))
    rows = patches.kernels(W)[0]
    found = numpy.empty((2, wanted[0].size))
    for part, right in patches.blocks(X):
        cut = numpy.split(rows, len(right.pieces), axis=1)
        found[:, part] = sum(left @ piece[0] for left, piece in zip(cut, right.pieces, strict=True))
    assert found.tolist() == wanted.reshape(2, -1).tolist()
    places = numpy.arange(wanted[0].size)
    one_by_one = patches.columns(numpy.zeros_like(places), places).astype(float)
    assert (rows @ one_by_one.T).tolist() == wanted.reshape(2, -1).tolist()
    assert len(patches.starts) == kernel[0]
    shifted = [place + shift for place in range(slid.places[0]) for shift, _ in patches.starts]
    read = max(place * strides[0] + rest for place in shifted for rest in range(patches.rests))
    assert read < patches.padded[0]


def test_zeros_of_both_signs_under_a_kernel_in_parts():
    """Minus one times +0 is -0, times -0 is +0; a sum of zeros is -0 only if all are."""
    W = numpy.full((1, TALL, 2, 1), -1, "f4")
    for row, sign in ((None, True), (0, False), (1, False)):
        X = numpy.zeros((1, TALL, 2, 1), "f4")
        if row is not None:
            X[0, 3, row] = -0.0
        found = by_kernel("Conv", [X, W])
        assert (found.item(), bool(numpy.signbit(found))) == (0, sign)
