"""Calls that are a simpler call: both sides for every number of float16, and near misses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.base.errors import NotExecutable
from sonnx.equivalence.normal_forms.trivial_calls import trivial_calls
from sonnx.equivalence.result import Answer
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.numerics.formats import Array

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(1, 1, 256, 256)
"""Every number of float16, NaNs with every payload included."""

CALLS: Mapping[str, tuple[str, str, bool]] = {
    "Clip": ("y = Clip (x, zero)", "y = Relu (x)", True),
    "Max": ("y = Max (x, zero)", "y = Relu (x)", False),
    "LeakyRelu, 1": ("y = LeakyRelu <alpha = 1.0> (x)", "y = Identity (x)", True),
    "LeakyRelu, 0": ("y = LeakyRelu <alpha = 0.0> (x)", "y = Relu (x)", False),
    "MaxPool, of one": ("y = MaxPool <kernel_shape = [1, 1]> (x)", "y = Identity (x)", True),
    "MaxPool, of one, with SAME_LOWER": (
        "y = MaxPool <kernel_shape = [1, 1], auto_pad = \"SAME_LOWER\"> (x)", "y = Identity (x)", True,
    ),
    "MaxPool, of all": ("y = MaxPool <kernel_shape = [256, 256]> (x)", "y = GlobalMaxPool (x)", False),
    "AveragePool, of one": ("y = AveragePool <kernel_shape = [1, 1]> (x)", "y = Identity (x)", False),
    "AveragePool, of all": (
        "c = Clip (x, zero, one) y = AveragePool <kernel_shape = [256, 256]> (c)",
        "c = Clip (x, zero, one) y = GlobalAveragePool (c)", False,
    ),
    "ReduceSum": ("y = ReduceSum <noop_with_empty_axes = 1> (x)", "y = Identity (x)", True),
    "ReduceMax": ("y = ReduceMax <noop_with_empty_axes = 1> (x, empty)", "y = Identity (x)", True),
    "ReduceMin": ("y = ReduceMin <noop_with_empty_axes = 1> (x)", "y = Identity (x)", True),
    "ReduceMean": ("y = ReduceMean <noop_with_empty_axes = 1> (x)", "y = Identity (x)", True),
    "ReduceProd": ("y = ReduceProd <noop_with_empty_axes = 1> (x)", "y = Identity (x)", False),
    "Mean": ("y = Mean (x)", "y = Identity (x)", False),
    "Pow": ("y = Pow (x, one)", "y = Identity (x)", False),
}  # fmt: skip
NEAR_MISSES: Mapping[str, tuple[str, str]] = {
    "another bound": ("y = Clip (x, one)", "y = Relu (x)"),
    "a second bound": ("y = Clip (x, zero, one)", "y = Relu (x)"),
    "the other bound": ("y = Clip (x, , zero)", "y = Relu (x)"),
    "a slope": ("y = LeakyRelu <alpha = 0.5> (x)", "y = Relu (x)"),
    "the slope of no attribute": ("y = LeakyRelu (x)", "y = Identity (x)"),
    "strides": ("y = MaxPool <kernel_shape = [1, 1], strides = [2, 2]> (x)", "y = Identity (x)"),
    "windows": ("y = MaxPool <kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\"> (x)", "y = Identity (x)"),
    "a smaller window": ("y = MaxPool <kernel_shape = [255, 256]> (x)", "y = GlobalMaxPool (x)"),
    "every axis": ("y = ReduceSum (x)", "y = Identity (x)"),
    "an axis": ("y = ReduceSum <noop_with_empty_axes = 1> (x, last)", "y = Identity (x)"),
    "two values": ("y = Mean (x, one)", "y = Identity (x)"),
    "the power 2": ("y = Pow (x, two)", "y = Identity (x)"),
}  # fmt: skip
NUMBERS = "<float16 zero = {0}, float16 one = {15360}, float16 two = {16384}, int64[0] empty = {}, int64[1] last = {3}>"


def model(body: str) -> bytes:
    head = '<ir_version: 9, opset_import: ["" : 18]> g (float16[1, 1, 256, 256] x) => (float16 y) '
    made = onnx.parser.parse_model(f"{head}{NUMBERS} {{ {body} }}")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made.SerializeToString()


def values(data: bytes) -> Array:
    """By the executor; by the evaluator of onnx where the executor does not know the operator."""
    try:
        found: Array = ModelRunner(read(data), None, None, unchecked=True).run({"x": EVERY}).values["y"]
    except NotExecutable:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(onnx.ModelProto.FromString(data)).run(None, {"x": EVERY})[0]
    return found


def answer(first: str, second: str) -> Answer:
    return sonnx.equivalent(model(first), model(second), runs=0).result.answer


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_simpler_one(name: str) -> None:
    first, second, is_exact = CALLS[name]
    assert answer(first, second) == (Answer.IDENTICAL if is_exact else Answer.ROUNDING)
    found, wanted = (values(model(body)) for body in (first, second))
    finite = np.isfinite(EVERY) if found.shape == EVERY.shape else np.ones(found.shape, bool)
    if is_exact:
        np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    else:
        np.testing.assert_array_equal(found[finite], wanted[finite])


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name: str) -> None:
    assert answer(*NEAR_MISSES[name]) == Answer.UNDECIDED


def test_every_call_of_the_file_is_tried() -> None:
    assert {each.operator for each in trivial_calls()} == {name.partition(",")[0] for name in CALLS}
