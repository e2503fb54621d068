"""Cast, QuantizeLinear and DequantizeLinear on strings and on types of at most eight bits, with literal values."""

import warnings

import numpy
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.executor.distance import first_difference
from sonnx.model.writer import element_number
from sonnx.numerics import small_floats
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array
from tests.support.cases import each_case
from tests.support.models import graph


def array(name: str, values: list[object]) -> Array:
    """Listed values in a type."""
    kind = ELEMENTS[name]
    if name in small_floats.SMALL_FLOATS or name == small_floats.EXPONENTS:
        return small_floats.rounded([float(value) for value in values], kind, (len(values),))
    return numpy.array(values, kind)


def one_node(operator, inputs, output, **attributes):
    names = [f"i{n}" for n in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"], **attributes)
    declared = {n: (element_number(NAMES[x.dtype]), x.shape) for n, x in zip(names, inputs, strict=True)}
    made = graph([node], declared, {"y": (element_number(output), inputs[0].shape)}, operator_set=28, ir_version=13)
    return made.SerializeToString(), dict(zip(names, inputs, strict=True))


def cast(source, values, target, **attributes):
    model, given = one_node("Cast", [array(source, values)], target, to=element_number(target), **attributes)
    return sonnx.run(model, given, unchecked=True)["y"]


@each_case(
    ("source", "values", "target", "wanted"),
    [
        ("string", ["3.14", "1000", "1e-5", "1E8", "-0", "+.5", "7."], "double", [3.14, 1000, 1e-5, 1e8, -0.0, 0.5, 7]),
        ("string", ["INF", "+inf", "-Inf", "nAn", "1e999", "-1e-999"], "float",
         [numpy.inf, numpy.inf, -numpy.inf, numpy.nan, numpy.inf, -0.0]),
        ("string", ["16777217.000000000000000001"], "float", [16777218]),  # not rounded to double on the way
        ("string", ["9223372036854775807", "-3", "+4"], "int64", [2**63 - 1, -3, 4]),
        ("string", ["0", "-0.0", "0.5", "NaN"], "bool", [False, False, True, True]),
        ("string", ["449", "0.2"], "float8e4m3fn", [448, 0.203125]),
        ("string", ["é", ""], "string", ["é", ""]),
        ("double", [0.1, 1.0, 1e22, 1e-7, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324], "string",
         ["0.1", "1", "10000000000000000000000", "0.0000001", "-0", "INF", "-INF", "NaN", "0." + "0" * 323 + "5"]),
        ("float", [0.1, 16777216.0, 314.15926], "string", ["0.1", "16777216", "314.15927"]),
        ("float16", [0.1, 65504.0], "string", ["0.1", "65500"]),
        ("bfloat16", [0.1, 3.140625], "string", ["0.1", "3.14"]),
        ("float8e5m2", [0.109375], "string", ["0.109375"]),
        ("int4", [-8, 7], "string", ["-8", "7"]),
        ("bool", [True, False], "string", ["1", "0"]),
        ("int16", [200, -9, 8], "int4", [-8, 7, -8]),
        ("uint8", [255, 3, 6], "int2", [-1, -1, -2]),
        ("int4", [-1, 7], "uint2", [3, 3]),
        ("float", [-8.9, 7.9, -0.5], "int4", [-8, 7, 0]),
        ("float4e2m1", [6, -0.5], "int2", None),
        ("float6e3m2", [28, -0.0625], "float16", [28, -0.0625]),
        ("float8e8m0", [2.0**127, 0.5], "float", [2.0**127, 0.5]),
        ("int2", [-2, 1], "float4e2m1", [-2, 1]),
        ("bool", [True, False], "float8e5m2fnuz", [1, 0]),
        ("float8e4m3fn", [0, 0.5], "bool", [False, True]),
    ],
)  # fmt: skip
def test_cast(source, values, target, wanted):
    if wanted is None:
        with pytest.raises(sonnx.NotExecutable, match="which has no value in int2"):
            cast(source, values, target)
        return
    found = cast(source, values, target)
    assert first_difference(found, array(target, wanted)) is None


@each_case(
    ("text", "target"),
    [("Hello World!", "float"), ("", "double"), (" 1", "float"), ("0x10", "float"), ("1_000", "int32"), ("٣", "int8"),
     ("infinity", "float"), ("2.718", "int32"), ("1e2", "int64"), ("INF", "int8"), ("128", "int8"), ("-1", "uint4"),
     ("--1", "float"), ("True", "bool"), ("1" * 5000, "int64")],
)  # fmt: skip
def test_strings_that_stand_for_no_number(text, target):
    with pytest.raises(sonnx.NotExecutable, match="does not stand for"):
        cast("string", [text], target)


@each_case("name", ["float16", "bfloat16", "float", "double"])
def test_a_written_number_is_read_back(name):
    draw = numpy.random.default_rng(3)
    bits = draw.integers(0, 2 ** (8 * ELEMENTS[name].itemsize), 200, f"u{ELEMENTS[name].itemsize}")
    values = bits.view(ELEMENTS[name])
    model, given = one_node("Cast", [values], "string", to=element_number("string"))
    texts = sonnx.run(model, given, unchecked=True)["y"]
    assert texts.dtype == TEXT
    model, given = one_node("Cast", [texts], name, to=element_number(name))
    assert first_difference(sonnx.run(model, given, unchecked=True)["y"], values) is None
    if name == "double":
        assert [float(text) for text in texts if text != "NaN"] == [x for x in values.tolist() if x == x]


@each_case(
    ("x", "scale", "zero", "wanted", "attributes"),
    [
        (("float", [1, 2.5, -40, 9]), ("float", [1] * 1), ("int4", [1]), ("int4", [2, 3, -8, 7]), {}),
        (("float", [1, 3, 5]), ("float", [2]), ("uint2", [1]), ("uint2", [1, 3, 3]), {}),
        (("float", [1, 1000, -0.0]), ("float", [2]), ("float8e4m3fn", [0]), ("float8e4m3fn", [0.5, 448, 0]), {}),
        (("float", [1e6, -1e6]), ("float", [2]), ("float8e5m2", [0]),
         ("float8e5m2", [numpy.inf, -numpy.inf]), {"saturate": 0}),
        (("float", [1.25, 7]), ("float", [1]), ("float4e2m1", [1]), ("float4e2m1", [2, 6]), {}),
        (("float16", [3, 5]), ("float8e8m0", [2]), ("uint8", [0]), ("uint8", [2, 2]), {}),
        (("int32", [7, -7]), ("int32", [2]), ("int8", [0]), ("int8", [4, -4]), {}),
    ],
)  # fmt: skip
def test_quantize(x, scale, zero, wanted, attributes):
    inputs = [array(*x), array(*scale), array(*zero)]
    model, given = one_node("QuantizeLinear", inputs, wanted[0], **attributes)
    found = sonnx.run(model, given, unchecked=True)["y"]
    expected = array(*wanted)
    if wanted[0] == "float8e5m2":
        expected = numpy.array([0x7C, 0xFC], "u1").view(expected.dtype)
    assert first_difference(found, expected) is None


@each_case("name", ["int2", "uint4", "float4e2m1", "float6e2m3", "float6e3m2", "float8e4m3fnuz"])
@each_case("scale", ["float", "float16", "float8e8m0"])
def test_dequantize_every_pattern(name, scale):
    """Against the evaluator of the onnx package, whose products are exact here."""
    kind = ELEMENTS[name]
    count = {"int2": 4, "uint4": 16}.get(name) or len(small_floats.numbers(name))
    X = numpy.arange(count, dtype="u1").view(kind)
    inputs = [X, array(scale, [0.5])]
    model, given = one_node("DequantizeLinear", inputs, "float", axis=0, output_dtype=element_number("float"))
    found = sonnx.run(model, given, unchecked=True)["y"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ReferenceEvaluator(model).run(None, given)[0]
    assert first_difference(found, wanted) is None
