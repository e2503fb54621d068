"""Operators at their edges, each value by hand: truths, versions, refusals, blocks of one element, counted elements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from operator import ne

import numpy
import onnx
import pytest

from sonnx.base.errors import NotExecutable
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import wide_type
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators import (
    all_operators,
    cast,
    comparisons,
    constants,
    gemm,
    globalmaxpool,
    pad,
    quantizelinear,
    resize,
)
from sonnx.operators.globalmaxpool import spatial_axes
from sonnx.operators.stated_signature import UNBOUNDED, common_type
from tests.support.applications import agreed, applied, written
from tests.support.cases import each_case
from tests.support.nodes import prepared
from tests.support.oracle import same

OPERATORS = all_operators()
ABOVE_ONE = 1 + 2.0**-23
OPEN = [1, 2.0**-24, 2.0**-80]
"""Three floats whose sum lies 2^-80 above the middle between 1 and ABOVE_ONE: only an exact sum decides it."""


def floats(*values):
    return numpy.array(values, "f4")


def node(operator, version, **names):
    return Application(operator, version, "onnx", names)


def run(operator, version, inputs, **attributes):
    """The first output by definition, and by kernel and fast path where there are any."""
    described, made = OPERATORS[operator], applied(operator, version, inputs, **attributes)
    return (agreed if described.kernel or described.fast_path else by_definition)(described, made, inputs)


def by_definition(described, made, inputs):
    return described.define(made, inputs)[0]


# ------------------------------------------------------------------ declarations, against the package onnx


def test_numbers_of_types_are_those_of_onnx():
    """The table of Cast is complete; that of QuantizeLinear has the types of its output; 0 stands for uint8."""
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items() if number}
    assert {number: names[number] for number in cast.NUMBERS} == cast.NUMBERS
    assert cast.target_type(written("Cast", to=10)) == numpy.float16
    assert set(cast.NUMBERS.values()) >= set(ELEMENTS) - {"complex64", "complex128"}
    allowed = onnx.defs.get_schema("QuantizeLinear", 25)
    [types] = [each.allowed_type_strs for each in allowed.type_constraints if each.type_param_str == "T3"]
    assert {quantizelinear.TYPES[number] for number in quantizelinear.TYPES} >= {each[7:-1] for each in types}
    assert {number: names[number] for number in quantizelinear.TYPES if number} | {0: "uint8"} == quantizelinear.TYPES
    assert quantizelinear.spread_values(node("QuantizeLinear", 25), (2,), floats(3)).tolist() == [3, 3]


@each_case("name", [name for name, each in OPERATORS.items() if each.signature is not None])
def test_numbers_of_inputs_are_those_of_onnx(name):
    schema, stated = onnx.defs.get_schema(name), OPERATORS[name].signature
    assert stated.inputs == (schema.min_input, schema.max_input)
    assert stated.outputs == (schema.min_output, schema.max_output)


def test_a_kernel_is_for_one_output():
    described, made = OPERATORS["Add"], written("Add")
    assert described.implementation(made, single=True, definitions_only=False)[1] is not None
    assert described.implementation(made, single=False, definitions_only=False)[1] is None
    assert [name for name, each in OPERATORS.items() if each.reads_shapes_only] == ["Shape"]


# ------------------------------------------------------------------ truths, comparisons, broadcasting along an axis

TRUTH = numpy.array([[False, False], [True, True]])
RIGHT = numpy.array([False, True])
TWO_BY_TWO = numpy.array([[1, 2], [3, 4]])
ALONG = [
    ("And", TRUTH, RIGHT, [[False, False], [False, True]], [[False, False], [True, True]]),
    ("Or", TRUTH, RIGHT, [[False, True], [True, True]], [[False, False], [True, True]]),
    ("Equal", TWO_BY_TWO, TWO_BY_TWO[0], [[True, True], [False, False]], [[True, False], [False, False]]),
    ("Less", TWO_BY_TWO, TWO_BY_TWO[1], [[True, True], [False, False]], [[True, True], [True, False]]),
    ("Greater", TWO_BY_TWO, TWO_BY_TWO[0], [[False, False], [True, True]], [[False, True], [True, True]]),
    ("Add", TWO_BY_TWO, TWO_BY_TWO[0], [[2, 4], [4, 6]], [[2, 3], [5, 6]]),
    ("Sub", TWO_BY_TWO, TWO_BY_TWO[0], [[0, 0], [2, 2]], [[0, 1], [1, 2]]),
    ("Mul", TWO_BY_TWO, TWO_BY_TWO[0], [[1, 4], [3, 8]], [[1, 2], [6, 8]]),
]
"""An operator, A, B, the output where B is a row, and where it is a column (axis 0, before operator set 7)."""


def test_two_tensors_by_rows_and_along_an_axis():
    for name, A, B, by_rows, by_columns in ALONG:
        described = OPERATORS[name]
        for made, wanted in (
            (written(name, 7), by_rows),
            (written(name, 6, broadcast=1), by_rows),
            (written(name, 6, broadcast=1, axis=0), by_columns),
        ):
            define, kernel = described.implementation(made, single=True, definitions_only=False)
            assert define(made, [A, B])[0].tolist() == wanted, name
            assert kernel([A, B], numpy.empty_like(wanted)).tolist() == wanted, name
    assert run("Not", 1, [RIGHT]).tolist() == [True, False]
    assert OPERATORS["And"].signature.inputs == OPERATORS["Or"].signature.inputs == (2, 2)


def test_a_comparison_is_broadcast_along_an_axis():
    unequal = comparisons._comparison("Unequal", ne, numpy.not_equal, None)
    made = written("Unequal", 6, broadcast=1, axis=0)
    define, kernel = unequal.implementation(made, single=True, definitions_only=False)
    inputs = [TWO_BY_TWO, TWO_BY_TWO[:, 0]]
    for found in (define(made, inputs)[0], kernel(inputs, numpy.empty((2, 2), bool))):
        assert found.tolist() == [[False, True], [False, True]]


# ------------------------------------------------------------------ values by hand

VALUES = [
    ("Dropout", 22, [floats(1, 2), numpy.array(0.5), numpy.array(False)], {}, [1, 2]),
    ("Dropout", 22, [floats(1, 2), numpy.array(0.0), numpy.array(True)], {}, [1, 2]),
    ("Dropout", 13, [floats(1, 2)], {}, [1, 2]),
    ("Dropout", 7, [floats(1, 2)], {}, [1, 2]),
    ("Dropout", 6, [floats(1, 2)], {"is_test": 1}, [1, 2]),
    ("GlobalMaxPool", 1, [numpy.arange(12.0).reshape(1, 2, 2, 3)], {}, [[[[5]], [[11]]]]),
    ("Identity", 16, [floats(1, 2)], {}, [1, 2]),
    ("Squeeze", 13, [floats(1, 2).reshape(1, 2, 1), numpy.array([0, -1])], {}, [1, 2]),
    ("Expand", 13, [floats(1), numpy.array([], "i8").astype("i8")], {}, [1]),
    ("Expand", 13, [numpy.zeros((1, 2), "f4"), numpy.array([0, 1])], {}, []),
    ("Mod", 28, [floats(1, -1, 1), floats(-0.75, 0.75, 0.75)], {}, [-0.5, 0.5, 0.25]),
    ("Mod", 10, [floats(1, -1, 1), floats(-0.75, 0.75, 0.75)], {"fmod": 1}, [0.25, -0.25, 0.25]),
    ("ScatterND", 18, [numpy.array([1, 2, 3]), numpy.array([1]), numpy.array(7)], {}, [1, 7, 3]),
    (
        "ScatterND", 18, [numpy.array([1, 2, 3]), numpy.array([[1], [1]]), numpy.array([7, 8])], {"reduction": "add"},
        [1, 17, 3],
    ),
    (
        "ScatterND", 18, [numpy.array([1, 2, 3]), numpy.array([[1], [1]]), numpy.array([7, 8])], {"reduction": "mul"},
        [1, 112, 3],
    ),
    ("Pow", 15, [numpy.array([-2, 5, 3], "i4"), numpy.array([31, 0, 1])], {}, [-(2**31), 1, 3]),
    ("Pow", 15, [floats(-1, -1), numpy.array([2**53 + 1, 2**53])], {}, [-1, 1]),
    ("Where", 16, [RIGHT, numpy.array(["a", "b"], object), numpy.array(["c", "d"], object)], {}, ["c", "b"]),
    ("Where", 16, [RIGHT, numpy.array([1 + 2j, 3]), numpy.array([5, 6 - 1j])], {}, [5, 3]),
]  # fmt: skip


@each_case(("operator", "version", "inputs", "attributes", "wanted"), VALUES, ids=lambda each: str(each)[:20])
def test_a_value(operator, version, inputs, attributes, wanted):
    assert run(operator, version, inputs, **attributes).tolist() == wanted


NAMED = [
    (node("Shape", 13), [numpy.empty((2, 3, 4))], [2, 3, 4]),
    (node("Shape", 15, start=1, end=3), [numpy.empty((2, 3, 4))], [3, 4]),
    (node("Shape", 15, start=-2, end=-1), [numpy.empty((2, 3, 4))], [3]),
    (node("Shape", 15, start=-9, end=9), [numpy.empty((2, 3, 4))], [2, 3, 4]),
    (node("LeakyRelu", 16, alpha=0.0), [floats(numpy.inf, 2, -2, 0)], [numpy.inf, 2, 0, 0]),
    (node("Range", 11), [floats(-1)[0], floats(1)[0], floats(0.5)[0]], [-1, -0.5, 0, 0.5]),
]


@each_case(("made", "inputs", "wanted"), NAMED, ids=lambda each: str(each)[:20])
def test_a_value_by_names(made, inputs, wanted):
    described = OPERATORS[made.operator]
    way = agreed if described.kernel else by_definition
    assert way(described, made, inputs).tolist() == wanted


def test_a_factor_of_zero_is_not_a_factor_of_one():
    A, C = numpy.ones((2, 2), "f4"), floats(5, 6)
    names = {"transA": 0, "transB": 0, "beta": 1.0}
    for alpha, wanted in ((0.0, [5, 6]), (1.0, [7, 8]), (2.0, [9, 10])):
        made = node("Gemm", 13, alpha=alpha, **names)
        assert agreed(gemm.OPERATOR, made, [A, A, C]).tolist() == [wanted, wanted]
    assert gemm.factors_of(node("Gemm", 13, alpha=numpy.inf, beta=0.5), A) == (numpy.inf, Fraction(1, 2))


def test_padding_that_wraps_around_an_axis_of_one():
    assert pad.along(floats(7), 0, (1, 2), "wrap", floats(0)).tolist() == [7, 7, 7, 7]
    assert pad.along(floats(7, 8), 0, (1, 2), "wrap", floats(0)).tolist() == [8, 7, 8, 7, 8]


def test_equal_parts():
    """From version 18 on the last part may be smaller."""
    for version, extent, wanted in ((13, 6, [2, 2, 2]), (18, 6, [2, 2, 2]), (18, 7, [3, 3, 1])):
        made = applied("Split", version, [numpy.arange(extent)], outputs=3)
        parts = OPERATORS["Split"].define(made, [numpy.arange(extent)])
        assert [len(part) for part in parts] == wanted
        assert numpy.concatenate(parts).tolist() == [*range(extent)]


def test_a_mask_of_dropout_is_bool_from_version_10():
    for version, kind in ((7, "f4"), (9, "f4"), (10, "?"), (12, "?")):
        made = Application("Dropout", version, "onnx", outputs=2)
        found, mask = OPERATORS["Dropout"].define(made, [floats(1, 2)])
        assert (found.tolist(), mask.tolist(), mask.dtype) == ([1, 2], [1, 1], numpy.dtype(kind))
        specs = OPERATORS["Dropout"].signature.output_specs(made, [((2,), numpy.dtype("f4"))])
        assert specs == (((2,), numpy.dtype("f4")), ((2,), numpy.dtype(kind)))


def test_scales_of_blocks():
    made = node("QuantizeLinear", 21, axis=1, block_size=2)
    assert quantizelinear.spread_values(made, (1, 4), floats([3, 5])).tolist() == [[3, 3, 5, 5]]
    assert quantizelinear.spread_values(made, (1, 3), floats([3, 5])).tolist() == [[3, 3, 5]]


@each_case(("value", "kind"), [(0.0, "bool"), (1.0, "bool"), (-128.0, "int8"), (127.0, "int8"), (0.0, "uint8")])
def test_extrapolation_at_the_ends_of_a_type(value, kind):
    assert resize.extrapolation(value, ELEMENTS[kind]) == value
    outside = value + 1 if value > 0 else value - 1
    with pytest.raises(NotExecutable, match="which no element of type"):
        resize.extrapolation(outside, ELEMENTS[kind])


def test_a_length_is_whole_but_for_the_rounding_of_a_scale():
    """Three elements times a float near 5/3, whose unit is 2^-23: a length of 5 may be off by 5 * 2^-23."""
    for units, whole in ((-3, False), (-1, True), (0, True), (1, True), (3, False)):
        scale = float(numpy.float32(5 / 3)) + units * 2.0**-23
        names = {"named": [0], "resized": [5], "scales": [scale], "sizes": ()}
        names["coordinate_transformation_mode"] = "align_corners"
        assert resize.whole_lengths(node("Resize", 19, **names), [numpy.zeros(3, "f4"), None]) == whole


def test_the_shape_after_a_global_pool():
    for shape, wanted in (((2, 3, 4, 5), (2, 3, 1, 1)), ((2, 3, 4), (2, 3, 1)), ((2, 3), (2, 3))):
        assert globalmaxpool.output_specs(written("GlobalMaxPool"), [(shape, "kind")]) == ((wanted, "kind"),)
    assert globalmaxpool.OPERATOR.signature.inputs == (1, 1)


def test_before_version_8_a_sum_has_one_shape():
    specs = OPERATORS["Sum"].signature.output_specs
    one, other = ((2, 1), numpy.dtype("f4")), ((2,), numpy.dtype("f4"))
    assert specs(written("Sum", 7), [one, one]) == (one,)
    assert specs(written("Sum", 8), [one, other]) == (((2, 2), numpy.dtype("f4")),)
    with pytest.raises(NotExecutable, match="differ, before operator set 8"):
        specs(written("Sum", 7), [one, other])


# ------------------------------------------------------------------ refusals


@each_case("character", ["\ud7ff", "\ud800", "\udbff", "\udfff", "\ue000", "a"])
def test_a_string_is_text_if_utf_8_has_it(character):
    attribute = Attribute("value_string", "string", character)
    try:
        character.encode()
    except UnicodeEncodeError:
        with pytest.raises(NotExecutable, match="a string that is not UTF-8"):
            constants._value(attribute, 13)
    else:
        assert constants._value(attribute, 13).tolist() == character


def test_numbers_of_a_constant_are_no_text():
    assert constants._value(Attribute("value_ints", "ints", [1, 2]), 13).tolist() == [1, 2]


@each_case("shape", [(), (2,), (2, 3, 0), (2, 3, 4, 0)])
def test_a_global_pool_of_nothing(shape):
    X = numpy.zeros(shape)
    with pytest.raises(NotExecutable, match="has no element on its spatial axes, or none of them"):
        spatial_axes(X)
    assert spatial_axes(numpy.zeros((0, 1, 2, 3))) == (2, 3)


REFUSED = [
    ("Dropout", 6, [floats(1)], {}, "it drops elements at random"),
    ("Dropout", 6, [floats(1)], {"is_test": 0}, "it drops elements at random"),
    ("Dropout", 12, [floats(1), None, numpy.array(True)], {}, "it drops elements at random"),
    ("Dropout", 12, [floats(1), numpy.array(0.5), numpy.array(True)], {}, "it drops elements at random"),
    ("Squeeze", 13, [numpy.zeros((1, 2)), numpy.array([0, 0])], {}, "are not different axes of extent 1"),
    ("Squeeze", 13, [numpy.zeros((1, 2)), numpy.array([0, 7])], {}, "are not different axes of extent 1"),
    ("Squeeze", 13, [numpy.zeros((1, 2)), numpy.array([1])], {}, "are not different axes of extent 1"),
    ("Expand", 13, [floats(1), numpy.array([-1])], {}, "has a negative extent"),
    ("Mod", 13, [floats(1), floats(1)], {"fmod": 0}, "fmod is 0, which has no meaning for float32"),
    ("Mod", 13, [floats(1), floats(1)], {"fmod": 2}, "fmod is 2, which has no meaning for float32"),
    ("ScatterND", 18, [numpy.array([1, 2]), numpy.array([1]), numpy.array([7])], {}, "which do not fit"),
]


@each_case(("operator", "version", "inputs", "attributes", "sentence"), REFUSED, ids=lambda each: str(each)[:20])
def test_a_refusal(operator, version, inputs, attributes, sentence):
    with pytest.raises(NotExecutable, match=sentence):
        OPERATORS[operator].define(applied(operator, version, inputs, **attributes), inputs)


def test_inputs_of_two_types():
    assert onnx.defs.get_schema("Sum").max_input == UNBOUNDED
    assert common_type(written("Add"), [((1,), ELEMENTS["float"])] * 2) == ELEMENTS["float"]
    with pytest.raises(NotExecutable, match="of types float and int32; ONNX wants one"):
        common_type(written("Add"), [((1,), ELEMENTS["float"]), ((1,), ELEMENTS["int32"])])


# ------------------------------------------------------------------ elements that took the exact path

WINDOW = {"kernel_shape": [1, 3], "strides": [1, 3]}
TWICE = numpy.array([1, 1, 2, 2], "f4")
COUNTED = [
    ("MatMul", {}, [numpy.ones((1, 3), "f4"), floats(*OPEN, 1, 1, 1).reshape(2, 3).T], [ABOVE_ONE, 3], (2, 1)),
    ("AveragePool", WINDOW, [floats(*(3 * x for x in OPEN), 1, 1, 1).reshape(1, 1, 1, 6)], [ABOVE_ONE, 1], (2, 1)),
    ("AveragePool", WINDOW, [floats(6, 0, -3, 1, 1, 1).reshape(1, 1, 1, 6)], [1, 1], (2, 0)),
    ("DequantizeLinear", {}, [numpy.array([4, 6], "i4"), numpy.array(0.5, "f2")], [2, 3], (2, 2)),
    ("DequantizeLinear", {}, [numpy.array([4, 6], "i1"), numpy.array(0.5, "f4")], [2, 3], None),
]


@each_case(("operator", "attributes", "inputs", "wanted", "counted"), COUNTED, ids=lambda each: str(each)[:20])
def test_counted_elements(operator, attributes, inputs, wanted, counted):
    """How many elements were approximated, and how many of them took the exact path."""
    ready = prepared(operator, inputs, **attributes)
    assert ready.kernel(inputs, numpy.empty(*ready.output_specs[0])).ravel().tolist() == wanted
    assert ready.application.exact_path_counts.by_operator.get(operator) == counted


def test_counted_elements_of_resize():
    """In the middle of four elements, a quarter of their sum: one element of 16 is open."""
    X, nothing = floats(*OPEN, 0).reshape(1, 1, 2, 2), numpy.zeros(0, "f4")
    modes = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    inputs = [X, nothing, TWICE]
    ready = prepared("Resize", inputs, **modes)
    found = ready.kernel(inputs, numpy.empty(*ready.output_specs[0]))
    assert found[0, 0, 1, 1] == ABOVE_ONE / 4
    assert ready.application.exact_path_counts.by_operator == {"Resize": (16, 1)}


@each_case("kind", ["f4", "f8"])
def test_normalized_elements_are_rounded_once(kind):
    """By fractions where the root of variance and epsilon is a power of two."""
    draw = numpy.random.default_rng(5)
    X = draw.standard_normal((2, 3, 4)).astype(kind)
    scale, B, mean = (draw.standard_normal(3).astype(kind) for _ in range(3))
    inputs = [X, scale, B, mean, numpy.array([0.25, 1, 4], kind) - numpy.array(0.125, kind)]
    ready = prepared("BatchNormalization", inputs, epsilon=0.125)
    found = ready.kernel(inputs, numpy.empty(*ready.output_specs[0]))
    for (n, c, place), x in numpy.ndenumerate(X):
        parts = [Fraction(float(each[c])) for each in (mean, scale, B)]
        exact = (Fraction(float(x)) - parts[0]) * parts[1] / Fraction(2) ** (c - 1) + parts[2]
        assert found[n, c, place] == nearest(exact, kind)
    elements, exactly = ready.application.exact_path_counts.by_operator["BatchNormalization"]
    assert (elements, exactly < elements) == (X.size, kind == "f4" or wide_type(numpy.dtype("f8")) is not None)


def nearest(exact, kind):
    """A fraction in float64 by Python, in float32 from its neighbours."""
    if kind == "f8":
        return exact.numerator / exact.denominator
    near = numpy.float32(float(exact))
    return min(
        (numpy.nextafter(near, numpy.float32(to)) for to in (-9, near, 9)),
        key=lambda x: abs(Fraction(float(x)) - exact),
    )


@each_case("elements", [1, 2, 7])
def test_response_normalization_in_blocks_of_fewer_elements_than_channels(elements):
    X = numpy.random.default_rng(4).standard_normal((2, 3, 5)).astype("f4")
    made = replace(written("LRN", size=3, alpha=0.5, beta=0.75, bias=1.0), block_elements=elements)
    wanted = OPERATORS["LRN"].define(made, [X])[0]
    assert same(OPERATORS["LRN"].fast_path(made, [X])[0], wanted)
