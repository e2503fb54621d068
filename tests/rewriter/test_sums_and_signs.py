"""Sums, means and signs that `fix` writes by other operators, against exact arithmetic and for all 16-bit patterns."""

from __future__ import annotations

from fractions import Fraction

import numpy
import onnx.parser
import pytest

from sonnx import fix, run
from sonnx.base.errors import UsageError
from sonnx.checker.verdicts import Verdict
from tests.rewriter.test_fix import runtime
from tests.support.cases import each_case

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '


def source(text: str) -> bytes:
    return bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())


def test_the_sign_of_every_half():
    data = source("(float16[65536] a) => (float16[65536] y) { y = Sign(a) }")
    every = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
    found = run(fix(data, samples=0).model_bytes(), {"a": every})["y"]
    number = ~numpy.isnan(every)
    wanted = numpy.where(every[number] > 0, 1, numpy.where(every[number] < 0, -1, 0)).astype(numpy.float16)
    assert found[number].tobytes() == wanted.tobytes()
    assert numpy.isnan(found[~number]).all()


@each_case(
    ("shape", "axes", "mean"),
    [
        ((3, 4), [1], True), ((4, 3), [0], True), ((2, 4, 3), [1], True), ((2, 2, 2), [0, 1, 2], True),
        ((1, 4, 1, 2), [1, 3], True), ((3, 5), [1], False), ((2, 5, 3), [1], False), ((2, 3), [0, 1], False),
    ],
)  # fmt: skip
@each_case("element", ["float16", "float", "double"])
def test_sums_and_means_are_exact_and_rounded_once(shape, axes, mean, element):
    dims = ",".join(map(str, shape))
    result = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    call = f"ReduceMean <axes = {axes}, keepdims = 1> (a)" if mean else "ReduceSum <keepdims = 1> (a, axes)"
    given = f"<int64[{len(axes)}] axes = {{{','.join(map(str, axes))}}}>" if not mean else ""
    declared = ",".join(map(str, result))
    data = source(f"({element}[{dims}] a) => ({element}[{declared}] y) {given} {{ y = {call} }}")
    rewritten = fix(data, samples=1)
    assert rewritten.after.verdict is Verdict.PASS
    dtype = {"float16": numpy.float16, "float": numpy.float32, "double": numpy.float64}[element]
    draw = numpy.random.default_rng(7)
    values = (draw.standard_normal(shape) * 2.0 ** draw.integers(-12, 12, shape)).astype(dtype)
    found = run(rewritten.model_bytes(), {"a": values})["y"]
    exact = numpy.vectorize(Fraction, otypes=[object])(values.astype(numpy.float64)).sum(
        axis=tuple(axes), keepdims=True
    )
    count = values.size // exact.size if mean else 1
    for one, total in zip(found.ravel(), exact.ravel(), strict=True):
        assert is_nearest(one, total / count)


def is_nearest(number, exact):
    """Whether no neighbour is nearer to the exact value, and of two nearest the even one is taken."""
    distance = abs(Fraction(float(number)) - exact)
    for end in (numpy.inf, -numpy.inf):
        other = numpy.nextafter(number, number.dtype.type(end))
        if not numpy.isfinite(other):
            continue
        away = abs(Fraction(float(other)) - exact)
        width = f"u{number.dtype.itemsize}"
        if away < distance or (away == distance and number.view(width) & 1):
            return False
    return True


@each_case(
    "text",
    [
        "(float[2, 3] a) => (float[2, 1] y) { y = ReduceMean <axes = [1]> (a) }",
        "(float[2, 3, 4] a) => (float[1, 3, 1] y) <int64[2] n = {0, 2}> { y = ReduceSum (a, n) }",
        "(bfloat16[2, 4] a) => (bfloat16[2, 1] y) <int64[1] n = {1}> { y = ReduceSum (a, n) }",
        "(int32[2, 4] a) => (int32[2, 1] y) { y = ReduceMean <axes = [1]> (a) }",
        "(int32[65, 2, 2] a) => (int32[65, 1, 2] y) <int64[1] n = {1}> { y = ReduceSum (a, n) }",
        "(float[N, 2] a) => (float[N, 1] y) <int64[1] n = {1}> { y = ReduceSum (a, n) }",
    ],
)
def test_what_is_not_exact_or_too_much_stays(text):
    assert "summed-products" not in {each.name for each in fix(source(text), samples=0).rewrites}


def test_the_average_of_a_power_of_two_of_elements():
    text = "(float[1, 3, 4, 4] a) => (float[1, 3, 1, 1] y) { y = GlobalAveragePool(a) }"
    assert fix(source(text), samples=2).after.verdict is Verdict.PASS


def test_the_floor_of_every_half():
    data = source("(float16[65536] a) => (float16[65536] y) { y = Floor(a) }")
    every = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
    found, number = run(fix(data, samples=0).model_bytes(), {"a": every})["y"], ~numpy.isnan(every)
    assert found[number].tobytes() == numpy.floor(every[number]).tobytes()
    assert numpy.isnan(found[~number]).all()


@each_case("kind", ["float16", "float", "double", "int8", "uint32", "bool"])
def test_equality_of_extreme_numbers(kind):
    dtype = numpy.dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    if dtype.kind == "f":
        info = numpy.finfo(dtype)
        some = [0.0, -0.0, 1.0, -1.0, info.tiny, info.smallest_subnormal, info.max, info.min, numpy.inf, -numpy.inf,
                numpy.nan, numpy.nextafter(dtype.type(1), dtype.type(2))]  # fmt: skip
    else:
        some = [False, True] if kind == "bool" else [0, 1, 2, numpy.iinfo(dtype).min, numpy.iinfo(dtype).max]
    values = numpy.array(some, dtype)
    count = len(values) ** 2
    one, other = (numpy.ascontiguousarray(each.reshape(-1)) for each in numpy.meshgrid(values, values))
    data = source(f"({kind}[{count}] a, {kind}[{count}] b) => (bool[{count}] y) {{ y = Equal(a, b) }}")
    fixed = fix(data, samples=0)
    assert fixed.after.verdict is Verdict.PASS
    assert (run(fixed.model_bytes(), {"a": one, "b": other})["y"] == (one == other)).all()


@each_case(
    "text",
    [
        "(float[1, 2, 5, 4] a) => (float[1, 2, 5, 4] y) "
        "{ y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) }",
        "(float[2, 3, 7] a) => (float[2, 3, 3] y) { y = AveragePool <kernel_shape = [3], strides = [2]> (a) }",
        "(float[1, 1, 6, 6] a) => (float[1, 1, 3, 3] y) "
        "{ y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (a) }",
        "(float[1, 3, 5, 5] a) => (float[1, 3, 1, 1] y) { y = GlobalAveragePool(a) }",
        "(float[2, 3, 4] a) => (float[2, 1, 4] y) { y = ReduceMean <axes = [1]> (a) }",
        "(float[1, 6, 2, 2] a) => (float[1, 6, 2, 2] y) { y = LRN <size = 3, alpha = 0.5> (a) }",
        "(float[1, 2, 3, 4] a) => (float[1, 1, 8, 8] y) "
        "<float[2, 1, 3, 2] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}> "
        "{ y = ConvTranspose <strides = [2, 2], output_padding = [1, 0]> (a, w) }",
        "(float[1, 1, 3, 3] a) => (float[1, 1, 7, 3] y) <float[1, 1, 2, 1] w = {1, 2}> "
        "{ y = ConvTranspose <strides = [2, 1], dilations = [2, 1]> (a, w) }",
        "(float[2, 3, 5] a) => (float[2, 3, 5] y) <float[5] s = {1, 2, 3, 4, 5}> { y = LayerNormalization (a, s) }",
    ],
)  # fmt: skip
def test_what_rounds_in_another_way_has_the_same_ideal_values(text):
    """onnxruntime, on ordinary numbers, agrees within the certified difference of the rewritten model.

    The ranges of LayerNormalization and of AveragePool with ceil_mode are not computed, so there is none for them.
    """
    data = bytes(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g ' + text).SerializeToString())
    fixed = fix(data, samples=0, within_bound=True, box=["a=[-2,2]"])
    assert fixed.after.verdict is Verdict.PASS
    shape = [int(each) for each in text.partition("[")[2].partition("]")[0].split(",")]
    given = numpy.random.default_rng(3).uniform(-2, 2, shape).astype(numpy.float32)
    [wanted] = runtime(onnx.ModelProto.FromString(data)).run(None, {"a": given})
    found = run(fixed.model_bytes(), {"a": given})["y"]
    bound = fixed.validation.bounds["y"]
    assert found.shape == wanted.shape
    assert numpy.abs(found - wanted).max() <= (1e-4 if bound is None else bound)
    assert bound is not None or any(each in text for each in ("LayerNormalization", "ceil_mode"))


def test_a_box_is_for_other_roundings():
    with pytest.raises(UsageError, match="--within-bound"):
        fix(source("(float[2] a) => (float[2] y) { y = Max(a) }"), box=["a=[0,1]"])
