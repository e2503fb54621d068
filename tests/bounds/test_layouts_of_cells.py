"""Bounds of LSTM and GRU: layout 1 exchanges the axes of steps and batch; without steps the last state is the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 3, 2


def bounds(operator: str, gates: int, layout: int, axes: tuple[int, ...], steps: int = STEPS) -> Mapping[str, Value]:
    """Of Y, of the last state Z and of the initial state h, for inputs that are a box."""
    numbers = np.random.default_rng(0)
    X = numbers.uniform(-1, 1, (steps, BATCH, INPUTS)).astype(np.float32).transpose(axes)
    h = numbers.uniform(-1, 1, (1, BATCH, HIDDEN)).astype(np.float32).transpose(axes)
    weights = {
        "W": numbers.uniform(-1, 1, (1, gates * HIDDEN, INPUTS)),
        "R": numbers.uniform(-1, 1, (1, gates * HIDDEN, HIDDEN)),
        "B": numbers.uniform(-1, 1, (1, 2 * gates * HIDDEN)),
    }
    x, state = (", ".join(map(str, array.shape)) for array in (X, h))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 14]> g (float[{x}] X, float[{state}] h) => (float[?] Y, float[?] Z)'
        f"{{ Y, Z = {operator} <hidden_size = {HIDDEN}, layout = {layout}> (X, W, R, B, , h) }}"
    )
    model.graph.initializer.extend(
        numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()
    )
    known = onnx.shape_inference.infer_shapes(model)
    read_model = read(known.SerializeToString())
    box: dict[str, Any] = {"X": (X - np.float32(0.125), X + np.float32(0.125)), "h": h}
    return Analyser(read_model, hypotheses_named("ieee-any")).run(box_of_arrays(read_model, box)).values


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_the_bounds_of_both_layouts_are_equal(operator: str, gates: int) -> None:
    first = bounds(operator, gates, 0, (0, 1, 2))
    second = bounds(operator, gates, 1, (1, 0, 2))
    for name, axes in (("Y", (2, 0, 1, 3)), ("Z", (1, 0, 2))):
        one, other = first[name], second[name]
        assert one.error.any()
        for field in ("low", "high", "error"):
            assert np.array_equal(getattr(one, field).transpose(axes), getattr(other, field)), field


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_without_steps_the_last_state_is_the_first(operator: str, gates: int) -> None:
    values = bounds(operator, gates, 0, (0, 1, 2), steps=0)
    assert values["Y"].shape == (0, 1, BATCH, HIDDEN)
    assert not values["Z"].has_error
    for field in ("low", "high"):
        assert np.array_equal(getattr(values["Z"], field), getattr(values["h"], field)), field
