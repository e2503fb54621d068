"""Movements that move nothing, of operands with symbolic extents; both sides run on several sizes, 0 included."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.numerics.formats import Array, patterns

SAME = "y = Identity(x)"
SIZES = ((1, 1), (2, 3), (3, 1), (0, 2), (2, 0))


def integers(name: str, *numbers: int) -> str:
    return f"{name} = Constant <value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}> () "


def number(name: str, value: str) -> str:
    return f"{name} = Constant <value_float = {value}> () "


END = 9223372036854775807
LOW, HIGH = number("l", "-inf"), number("h", "inf")
ONES = "s = Constant <value = float[4] {1., 1., 1., 1.}> () "

UNMOVED: Mapping[str, tuple[str, int]] = {
    "Max": ("y = Max(x, x)", 18),
    "Max of three": ("y = Max(x, x, x)", 18),
    "Min": ("y = Min(x, x)", 18),
    "Clip by infinities": (LOW + HIGH + "y = Clip(x, l, h)", 18),
    "Clip by one infinity": (HIGH + "y = Clip(x, , h)", 18),
    "Clip without bounds": ("y = Clip(x)", 18),
    "Dropout": ("y = Dropout(x)", 18),
    "Dropout with a mask": ("y, m = Dropout(x)", 18),
    "Dropout that does not train": (
        "t = Constant <value = bool {0}> () " + number("r", "0.3") + "y = Dropout(x, r, t)", 18,
    ),
    "old Dropout": ("y = Dropout <ratio = 0.3> (x)", 7),
    "Concat": ("y = Concat <axis = 1> (x)", 18),
    "Slice": (integers("s", 0, 0) + integers("e", END, END) + integers("a", -1, 0) + "y = Slice(x, s, e, a)", 18),
    "Slice of a known extent": (integers("s", 0) + integers("e", 4) + integers("a", 2) + "y = Slice(x, s, e, a)", 18),
    "Pad": (integers("p", *[0] * 8) + "y = Pad(x, p)", 18),
    "Pad by edges": (integers("p", *[0] * 8) + 'y = Pad <mode = "edge"> (x, p)', 18),
    "Transpose": ("y = Transpose <perm = [0, 1, 2, 3]> (x)", 18),
    "Transpose and back": (
        "a = Transpose <perm = [0, 2, 3, 1]> (x) y = Transpose <perm = [0, 3, 1, 2]> (a)", 18,
    ),
    "Transpose in three steps": (
        "a = Transpose <perm = [1, 2, 3, 0]> (x) b = Transpose <perm = [1, 2, 3, 0]> (a) "
        "y = Transpose <perm = [2, 3, 0, 1]> (b)", 18,
    ),
    "Expand": (integers("s", 1, 1) + "y = Expand(x, s)", 18),
    "Expand to a known extent": (integers("s", 4, 5) + "y = Expand(x, s)", 18),
    "Expand to its shape": ("s = Shape(x) y = Expand(x, s)", 18),
    "Reshape to its shape": ("s = Shape(x) y = Reshape(x, s)", 18),
    "Reshape to zeros": (integers("s", 0, 0, 0, 0) + "y = Reshape(x, s)", 18),
    "Reshape to zeros and a known extent": (integers("s", 0, 0, 4, 0) + "y = Reshape(x, s)", 18),
    "Tile": (integers("r", 1, 1, 1, 1) + "y = Tile(x, r)", 18),
    "Split": ("y = Split <num_outputs = 1, axis = 1> (x)", 18),
    "Squeeze of Unsqueeze": (integers("a", 0, -1) + integers("b", 5, 0) + "u = Unsqueeze(x, a) y = Squeeze(u, b)", 18),
    "Resize": (ONES + "y = Resize(x, , s)", 18),
}  # fmt: skip

MOVED: Mapping[str, str] = {
    "Clip by 0": number("l", "0.0") + HIGH + "y = Clip(x, l, h)",
    "Clip by the largest number": number("h", "3.4028234663852886e38") + "y = Clip(x, , h)",
    "Slice from 1": integers("s", 1) + integers("e", END) + integers("a", 0) + "y = Slice(x, s, e, a)",
    "Slice to 2": integers("s", 0) + integers("e", 2) + integers("a", 0) + "y = Slice(x, s, e, a)",
    "Slice to the last but one": integers("s", 0) + integers("e", -1) + integers("a", 0) + "y = Slice(x, s, e, a)",
    "Slice backwards": integers("s", -1) + integers("e", -END) + integers("a", 0) + integers("t", -1) +
    "y = Slice(x, s, e, a, t)",
    "Slice of every second": integers("s", 0) + integers("e", END) + integers("a", 0) + integers("t", 2) +
    "y = Slice(x, s, e, a, t)",
    "Pad by 1 and -1": integers("p", 1, 0, 0, 0, -1, 0, 0, 0) + "y = Pad(x, p)",
    "Transpose": "y = Transpose <perm = [1, 0, 2, 3]> (x)",
    "Transpose twice": "a = Transpose <perm = [0, 2, 3, 1]> (x) y = Transpose <perm = [0, 2, 3, 1]> (a)",
    "Expand": integers("s", 2, 1, 1, 1) + "y = Expand(x, s)",
    "Reshape": integers("s", 0, 0, 5, 4) + "y = Reshape(x, s)",
    "Reshape that copies what is 0": integers("s", 0, -1, 4, 5) + "y = Reshape(x, s)",
    "Tile": integers("r", 1, 2, 1, 1) + "y = Tile(x, r)",
    "Squeeze of all axes": integers("a", 0) + "u = Unsqueeze(x, a) y = Squeeze(u)",
    "Concat of two": "y = Concat <axis = 0> (x, x)",
    "the maximum of all": "y = ReduceMax(x)",
}  # fmt: skip


NOT_EXECUTED = ("Tile",)
"""The operators that the executor has no definition of; ONNX's own reference runs them."""


def model(body: str, operator_set: int = 18) -> bytes:
    text = (
        f'<ir_version: 8, opset_import: ["" : {operator_set}]> '
        f"g (float[N, M, 4, 5] x) => (float[a, b, c, d] y) {{ {body} }}"
    )
    return onnx.parser.parse_model(text).SerializeToString()


def _executor(model_bytes: bytes) -> Callable[[Array], Array]:
    runner = ModelRunner(read(model_bytes), None, None, unchecked=True)
    return lambda x: runner.run({"x": x}).values["y"]


def _reference(model_bytes: bytes) -> Callable[[Array], Array]:
    evaluator = ReferenceEvaluator(onnx.load_from_string(model_bytes))
    return lambda x: np.asarray(evaluator.run(["y"], {"x": x})[0])


@pytest.mark.parametrize("name", UNMOVED)
def test_movements_that_move_nothing(name: str) -> None:
    body, operator_set = UNMOVED[name]
    pair = model(body, operator_set), model(SAME, operator_set)
    result = sonnx.equivalent(*pair, runs=0).result
    assert (result.answer, dict(result.binding)) == (Answer.IDENTICAL, {})
    runs = [_reference(each) if name in NOT_EXECUTED else _executor(each) for each in pair]
    for sizes in SIZES:
        x = np.resize(np.array([1, -0.0, np.inf, -np.inf, np.nan, 3.5, 0], np.float32), (*sizes, 4, 5))
        ours, theirs = (run(x) for run in runs)
        assert ours.shape == theirs.shape and np.array_equal(patterns(ours), patterns(theirs)), sizes


@pytest.mark.parametrize("name", MOVED)
def test_movements_that_move(name: str) -> None:
    result = sonnx.equivalent(model(MOVED[name]), model(SAME), runs=0).result
    assert not result.proved or result.binding


def test_a_bound_that_no_number_is_beyond_is_none() -> None:
    one = model(number("l", "0.0") + HIGH + "y = Clip(x, l, h)")
    assert sonnx.equivalent(one, model(number("l", "0.0") + "y = Clip(x, l)")).result.answer == Answer.IDENTICAL
    for other in ("y = Clip(x)", number("l", "0.5") + "y = Clip(x, l)", number("h", "0.0") + "y = Clip(x, , h)"):
        assert sonnx.equivalent(one, model(other), runs=0).result.answer != Answer.IDENTICAL
