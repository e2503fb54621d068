"""The definitions transcribed in proofs/ agree with numpy, the kernels and the executor, on all 16-bit patterns.

A theorem about a formula beside the code is one about the code only if both are the same function.
"""

from itertools import product
from math import ceil

import ml_dtypes
import numpy as np
import pytest

from sonnx.language import builtins
from sonnx.language.evaluator import TensorFacts
from sonnx.numerics import order
from sonnx.numerics.application import Application
from sonnx.numerics.formats import format_of
from sonnx.numerics.maximum import fast_maximum
from sonnx.numerics.numpy_trials import specials
from sonnx.operators import all_operators
from sonnx.operators import argmax as argmax_kernel
from sonnx.proofs import auto_padding, clip, integer_wraparound, kernels, quantization, signs, slices
from sonnx.prover.expression_claims import checker_verdict
from tests.support.cases import each_case
from tests.support.editions import NEWEST

SIXTEEN = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
PATTERNS = np.arange(1 << 16, dtype=np.uint16)
UNARY = {"neg": signs.negated, "abs": signs.absolute, "relu": signs.rectified}
NUMPY = {"neg": np.negative, "abs": np.abs, "relu": lambda x: np.where(x < 0, np.zeros((), x.dtype), x)}
INTEGERS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
INT8 = [each.ravel() for each in np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))]


def evaluated(operator, *inputs):
    """The result of the executor's definition."""
    [found] = [each for name, each in all_operators().items() if name.lower() == operator]
    with np.errstate(all="ignore"):
        return found.define(Application(operator, 13, NEWEST), list(inputs))[0]


def same(found, wanted, made):
    """Equal patterns, or both NaN."""
    nans = [(each & (made.sign - 1)) > made.infinity for each in (found, wanted)]
    return bool(np.all((found == wanted) | (nans[0] & nans[1])))


# ------------------------------------------------------------------ kernels


@each_case("name", SIXTEEN)
@each_case("count", [2, 3])
def test_the_formula_of_extremes_is_the_kernel(name, count):
    kind = SIXTEEN[name]
    made, few = format_of(kind), specials(kind)
    numbers = few[~np.isnan(few.astype(np.float32))]
    operands = [PATTERNS.view(kind)[:, None], numbers[None, :], np.roll(numbers, 3)[None, :]][:count]
    fast = fast_maximum(operands, np.empty((1 << 16, len(numbers)), kind)).view(np.uint16)
    integers = np.broadcast_arrays(*[each.view(made.signed) for each in operands])
    greatest, least = np.max(integers, axis=0), np.min(integers, axis=0)
    formula = kernels.of_extremes(greatest, least, 15).view(np.uint16)
    number = (PATTERNS & (made.sign - 1)) <= made.infinity
    assert np.array_equal(fast[number], formula[number])


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_the_formula_of_the_common_sign_is_the_kernel(count):
    kind = np.dtype(np.float32)
    made, few = format_of(kind), specials(kind)
    numbers = few[~np.isnan(few)]
    patterns = (PATTERNS.astype(np.uint32) << 16).view(np.float32)
    operands = [patterns[:, None], numbers[None, :], np.roll(numbers, 3)[None, :]][:count]
    fast = fast_maximum(operands, np.empty((1 << 16, len(numbers)), kind)).view(np.uint32)
    spread = [np.ascontiguousarray(each).view(np.uint32) for each in np.broadcast_arrays(*operands)]
    largest = np.max([each.view(np.float32) for each in spread], axis=0).view(np.uint32)
    every = np.bitwise_and.reduce(spread)
    formula = kernels.with_common_sign(largest, every, made.sign)
    number = ~np.isnan(patterns)
    assert np.array_equal(fast[number], formula[number])


@each_case("name", SIXTEEN)
@each_case("zeros_are_equal", [False, True])
def test_the_formula_of_keys_is_the_kernel(name, zeros_are_equal):
    made = format_of(SIXTEEN[name])
    bits = PATTERNS.view(made.signed)
    fast = argmax_kernel._keys(bits[None, :], zeros_are_equal, made)[0]
    formula = kernels.ordered(bits, 15, made.sign) - ((bits >> 15) if zeros_are_equal else 0)
    number = (PATTERNS & (made.sign - 1)) <= made.infinity
    assert np.array_equal(fast[number], formula[number])


# ------------------------------------------------------------------ values


@pytest.mark.parametrize("name", SIXTEEN)
@pytest.mark.parametrize("operator", UNARY)
@pytest.mark.filterwarnings("ignore")
def test_signs_are_those_of_numpy_and_the_executor(name, operator):
    kind = SIXTEEN[name]
    made, X = format_of(kind), PATTERNS.view(kind)
    wanted = np.array([UNARY[operator](p, made.sign, made.infinity) for p in range(1 << 16)], np.uint16)
    assert same(NUMPY[operator](X).view(np.uint16), wanted, made)
    found = evaluated(operator, X)
    assert same(found.view(np.uint16), wanted, made)


@pytest.mark.parametrize("name", SIXTEEN)
@pytest.mark.filterwarnings("ignore")
def test_clip_is_that_of_the_executor(name):
    kind = SIXTEEN[name]
    made, few = format_of(kind), specials(kind)
    for low in few:
        for high in few:
            found = evaluated("clip", few, np.array(low), np.array(high))
            bounds = [int(np.array(each).view(np.uint16)) for each in (low, high)]
            places = [order.equal_zeros_key(each, made.sign, made.infinity) for each in bounds]
            wanted = []
            for pattern in few.view(np.uint16).tolist():
                at = order.equal_zeros_key(pattern, made.sign, made.infinity)
                wanted.append(clip.clipped(pattern, *bounds, at, *places, made.infinity))
            below, above = (each.astype(np.float32) for each in (low, high))
            numbers = few.astype(np.float32)
            below, above = -np.inf if np.isnan(below) else below, np.inf if np.isnan(above) else above
            text = [above if below > above else below if x < below else above if x > above else x for x in numbers]
            assert np.array_equal(np.array(wanted, np.uint16).view(kind).astype(np.float32), text, equal_nan=True)
            assert np.array_equal(found.view(np.uint16), wanted)


@pytest.mark.parametrize("operator", INTEGERS)
@pytest.mark.filterwarnings("ignore")
def test_integers_wrap_as_in_numpy_and_the_executor(operator):
    exact = INTEGERS[operator](*[each.astype(np.int64) for each in INT8])
    wanted = np.array([integer_wraparound.wrapped(int(value), -128, 256) for value in exact])
    assert np.array_equal(INTEGERS[operator](*INT8), wanted)
    found = evaluated(operator, *INT8)
    assert np.array_equal(found, wanted)


def test_quotients_are_truncated_as_in_c_and_the_executor():
    a, b = (each[INT8[1] != 0].astype(np.int64) for each in INT8)
    wanted = np.array([integer_wraparound.quotient(int(x), int(y)) for x, y in zip(a, b, strict=True)])
    assert np.array_equal(np.trunc(a / b), wanted)
    allowed = (a != -128) | (b != -1)
    found = evaluated("div", a[allowed].astype(np.int8), b[allowed].astype(np.int8))
    assert np.array_equal(found, wanted[allowed])


def test_quantized_numbers_are_those_of_numpy_and_the_executor():
    X = np.linspace(-300, 300, 4001, dtype=np.float32)
    for dtype, zero_points in ((np.uint8, (0, 128, 255)), (np.int8, (-128, 0, 127))):
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
        for zero_point in zero_points:
            wanted = [quantization.saturated(round(float(x)), zero_point, lowest, highest) for x in X]
            assert np.array_equal(np.clip(np.rint(X) + zero_point, lowest, highest), wanted)
            found = evaluated("quantizelinear", X, np.float32(1), dtype(zero_point))
            assert np.array_equal(found, wanted)


# ------------------------------------------------------------------ shapes


def test_slices_are_those_of_python():
    """But for a start before the axis and a negative step, where ONNX takes the first element and Python none."""
    for extent in range(5):
        for start in range(-extent, 8):
            for end in range(-7, 8):
                for step in (-3, -2, -1, 1, 2, 3):
                    found = builtins.sliced(extent, start, end, step)
                    assert found == len(range(extent)[start:end:step]), (extent, start, end, step)


def test_the_pages_of_slice_as_transcribed():
    assert slices.starts_in_axis(3, -3)
    assert not slices.starts_in_axis(3, 3)
    assert slices.ends_in_axis(3, 3, 1)
    assert not slices.ends_in_axis(3, 3, -1)
    assert slices.drafted(-5, -2) == 4, "the example of the erratum: 5, 3, 1 are three"
    assert slices.printed_shape_length(3, 0, -500) == -497, "the example of the erratum"


def test_derived_padding_keeps_the_extent_of_a_strided_axis():
    for extent in range(1, 12):
        for width in range(1, 8):
            for stride in range(1, 6):
                total = auto_padding.same_padding(extent, width, stride)
                starts = range(0, extent + total - width + 1, stride)
                assert len(starts) == ceil(extent / stride) == auto_padding.rounded_up(extent, stride)


def test_a_check_gives_the_verdicts_of_the_counterexamples():
    facts = {"kernel_shape": [2], "strides": [1], "dilations": [2], "pads": [1, 1], "auto_pad": "NOTSET"}
    rules = ("pads-below-window", "kernel-fits", "every-window-touches")
    said = [
        checker_verdict("MaxPool", 12, "2026-08", rule, X=TensorFacts("float", (1, 1, 1)), **facts) for rule in rules
    ]
    assert said == ["pass", "pass", "fail"], "the example of the erratum"


def test_the_rule_on_windows_decides_as_every_tap_of_every_window():
    """By window.chosen-windows the windows the rule tests suffice; here the rule itself is evaluated."""
    numbers = product((1, 2, 4), (1, 2, 3), (1, 2), (1, 2, 3), (0, 1, 2), (0, 2))
    for extent, kernel, gap, stride, before, after in numbers:
        width = builtins.window(kernel, gap)
        if extent + before + after < width:
            continue
        starts = range(-before, extent + after - width + 1, stride)
        touched = all(any(0 <= start + h * gap < extent for h in range(kernel)) for start in starts)
        facts = {"kernel_shape": [kernel], "strides": [stride], "dilations": [gap], "pads": [before, after]}
        said = checker_verdict(
            "MaxPool", 12, "", "every-window-touches", X=TensorFacts("float", (1, 1, extent)), **facts
        )
        assert said == ("pass" if touched else "fail"), facts
