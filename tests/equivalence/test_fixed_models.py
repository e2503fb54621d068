"""What `fix` writes is the same function as the original, by the comparison of models."""

from __future__ import annotations

import pytest

import sonnx
from tests.support.paths import ROOT

ANSWERS = {
    "examples/conforming.onnx": "identical",
    "examples/symbolic.onnx": "identical",
    "tests/models/cnn.onnx": "identical",
    "tests/models/cnn_torchscript.onnx": "identical",
    "tests/models/lstm.onnx": "identical",
}
"""The answer for each model; a stack of matrices that `fix` splits into products is not decided yet."""


@pytest.mark.parametrize("name", ANSWERS)
def test_a_fixed_model_is_the_same_function(name: str) -> None:
    fixed = sonnx.fix(ROOT / name, samples=0).model_bytes()
    found = sonnx.equivalent(ROOT / name, fixed, runs=0).result
    assert found.answer == ANSWERS[name]
    assert not found.binding
