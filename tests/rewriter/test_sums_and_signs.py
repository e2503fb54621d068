"""Sums, means and signs that `fix` writes by other operators, against exact arithmetic and for all 16-bit patterns."""

from __future__ import annotations

from fractions import Fraction

import numpy
import onnx.parser

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
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
        "(float[65, 2, 2] a) => (float[65, 1, 2] y) <int64[1] n = {1}> { y = ReduceSum (a, n) }",
        "(float[N, 2] a) => (float[N, 1] y) <int64[1] n = {1}> { y = ReduceSum (a, n) }",
    ],
)
def test_what_is_not_exact_or_too_much_stays(text):
    assert "summed-products" not in {each.name for each in fix(source(text), samples=0).rewrites}


def test_the_average_of_a_power_of_two_of_elements():
    text = "(float[1, 3, 4, 4] a) => (float[1, 3, 1, 1] y) { y = GlobalAveragePool(a) }"
    assert fix(source(text), samples=2).after.verdict is Verdict.PASS
