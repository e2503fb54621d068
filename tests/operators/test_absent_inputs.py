"""What leaving an input out means: the tensor that the data file states gives the same outputs, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import helper

from sonnx.profile import catalogue
from tests.support.fact_checks import Array, Call, of_kind, same

STATED = {
    (known.name, place.onnx): place.absent
    for known in catalogue.operators()
    for place in known.inputs
    if place.absent
}  # fmt: skip
RECURRENT = [("f", 3, 2, 2), ("f", 1, 12, 2), ("f", 1, 12, 3)]
GATED = [("f", 3, 2, 2), ("f", 1, 9, 2), ("f", 1, 9, 3)]
CASES: Sequence[tuple[str, str, int, int, Sequence[tuple[Any, ...]], tuple[Any, ...], Mapping[str, Any]]] = (
    ("Conv", "B", 2, 13, [("f", 1, 2, 3, 3), ("f", 2, 2, 2, 2)], ("f", 2), {}),
    ("ConvInteger", "x_zero_point", 2, 10, [("B", 1, 1, 3, 3), ("b", 1, 1, 2, 2)], ("B",), {}),
    ("ConvInteger", "w_zero_point", 3, 10, [("B", 1, 1, 3, 3), ("b", 1, 1, 2, 2)], ("b",), {}),
    ("ConvTranspose", "B", 2, 11, [("f", 1, 2, 3, 3), ("f", 2, 2, 2, 2)], ("f", 2), {}),
    ("DequantizeLinear", "x_zero_point", 2, 13, [("b", 2, 3), ("f",)], ("b",), {}),
    ("QuantizeLinear", "y_zero_point", 2, 13, [("f", 2, 3), ("p",)], ("B",), {}),
    ("QuantizeLinear", "y_zero_point", 2, 21, [("f", 2, 3), ("p",)], ("b",), {"output_dtype": 3}),
    ("Gemm", "C", 2, 13, [("f", 2, 3), ("f", 3, 2)], ("f", 2, 2), {}),
    ("Gemm", "C", 2, 13, [("f", 2, 3), ("f", 3, 2)], ("f", 2, 2), {"alpha": -0.5}),
    ("GRU", "B", 3, 14, GATED, ("f", 1, 18), {"hidden_size": 3}),
    ("GRU", "sequence_lens", 4, 14, GATED, ("i", 2), {"hidden_size": 3}),
    ("GRU", "initial_h", 5, 14, GATED, ("f", 1, 2, 3), {"hidden_size": 3}),
    ("LSTM", "B", 3, 14, RECURRENT, ("f", 1, 24), {"hidden_size": 3}),
    ("LSTM", "sequence_lens", 4, 14, RECURRENT, ("i", 2), {"hidden_size": 3}),
    ("LSTM", "initial_h", 5, 14, RECURRENT, ("f", 1, 2, 3), {"hidden_size": 3}),
    ("LSTM", "initial_c", 6, 14, RECURRENT, ("f", 1, 2, 3), {"hidden_size": 3}),
    ("LSTM", "P", 7, 14, RECURRENT, ("f", 1, 9), {"hidden_size": 3}),
    ("Pad", "constant_value", 2, 13, [("f", 2, 3), ("pads",)], ("f",), {}),
)
"""Operator, input and its place, operator set, the inputs before it, type and shape of the input, attributes."""
PADS = np.array([1, 0, 0, 2], np.int64)


def _tensor(kind: str, shape: Sequence[int], chance: np.random.Generator) -> Array:
    if kind == "pads":
        return PADS
    if kind == "p":
        return np.asarray(0.5, np.float32)
    return of_kind(np.zeros(shape, "f4" if kind == "f" else {"i": "i4"}.get(kind, kind)), chance)


def test_every_stated_meaning_has_a_case() -> None:
    """An input that has one is one that may be left out."""
    assert {(operator, name) for operator, name, *_ in CASES} == STATED.keys()
    for known in catalogue.operators():
        assert {each.name for each in known.inputs if each.absent} <= {
            each.name for each in known.inputs if each.optional
        }
        assert all(each.absent or each.absent_when is None for each in known.inputs)


@pytest.mark.parametrize(("operator", "name", "place", "opset", "before", "own", "attributes"), CASES)
def test_an_input_that_is_left_out_is_the_stated_tensor(
    operator: str,
    name: str,
    place: int,
    opset: int,
    before: Sequence[tuple[Any, ...]],
    own: tuple[Any, ...],
    attributes: Mapping[str, Any],
) -> None:
    stated = STATED[operator, name]
    number = {"steps": 3.0}[stated] if stated == "steps" else float(stated)
    ran = 0
    for seed in range(12):
        chance = np.random.default_rng(seed)
        given: list[Array | None] = [_tensor(kind, shape, chance) for kind, *shape in before]
        if operator in ("ConvInteger", "DequantizeLinear"):
            given = [each if each is None or each.dtype.kind != "f" else np.asarray(0.5, np.float32) for each in given]
        outputs = ["Y"] if operator not in ("GRU", "LSTM") else ["Y", "Y_h"]
        types = [_output_type(operator, own, attributes)] * len(outputs)
        names = [f"x{index}" for index in range(len(given))]
        without = Call(helper.make_node(operator, names, outputs, **attributes), opset, tuple(given), tuple(types))
        tensor = np.full(own[1:], number, {"f": "f4", "i": "i4"}.get(own[0], own[0]))
        gap = place - len(given)
        node = helper.make_node(operator, [*names, *[""] * gap, "z"], outputs, **attributes)
        with_it = replace(without, node=node, inputs=(*given, *[None] * gap, tensor))
        expected = without.run()
        if expected is None and with_it.run() is None:
            continue
        ran += 1
        assert same(with_it.run(), expected), seed
    assert ran >= 6


def _output_type(operator: str, own: tuple[Any, ...], attributes: Mapping[str, Any]) -> int:
    kind = {"ConvInteger": "i4", "QuantizeLinear": own[0]}.get(operator, "f4")
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def test_weights_of_0_on_an_infinite_cell_are_not_none() -> None:
    """Why the peepholes of LSTM have a condition: 0 times infinity is NaN."""
    [inputs] = [place for place in _known("LSTM").inputs if place.onnx == "P"]
    assert inputs.absent_when is not None
    names = [f"x{index}" for index in range(3)]
    weights = [np.ones((2, 1, 1), np.float32), np.ones((1, 4, 1), np.float32), np.ones((1, 4, 1), np.float32)]
    cell, peepholes = np.full((1, 1, 1), np.inf, np.float32), np.zeros((1, 3), np.float32)
    element = int(helper.np_dtype_to_tensor_dtype(np.dtype(np.float32)))
    node = helper.make_node("LSTM", [*names, "", "", "", "c"], ["Y"], hidden_size=1)
    plain = Call(node, 14, (*weights, None, None, None, cell), (element,))
    peeping = replace(
        plain,
        node=helper.make_node("LSTM", [*names, "", "", "", "c", "p"], ["Y"], hidden_size=1),
        inputs=(*plain.inputs, peepholes),
    )
    assert not same(plain.run(), peeping.run())


def _known(operator: str) -> Any:
    known = catalogue.operator(operator)
    assert known is not None
    return known
