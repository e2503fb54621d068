"""Exports of several frameworks, with their recipe: `fix` makes them conform, or the report says what is left."""

from __future__ import annotations

import pytest

import sonnx
from sonnx.base.errors import UsageError
from sonnx.rewriter.fix import fix
from tests.support.cases import each_case
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "models" / "frameworks"
CONFORM = {
    "onnxscript_envelope", "quantized_cnn", "sklearn_pca", "torch_residual", "torch_residual_torchscript",
}  # fmt: skip
LEFT = {
    "keras_cnn": {"ReduceMean"},
    "torch_vit": {"LayerNormalization", "Erf"},
    "lightgbm_trees": {"TreeEnsembleRegressor"},
    "sklearn_linear": {"LinearRegressor"},
    "sklearn_logistic": {"LinearClassifier", "Normalizer"},
    "sklearn_perceptron": {"Scaler", "Cast"},
    "torch_controller": {"GRU"},
    "torch_decoder": {"Gelu", "ConvTranspose"},
}
"""The operators that keep a model outside the profile; other findings are shapes and types of values behind them."""
REFUSED = {"sklearn_forest": "is of kind sequence"}


def fixed(name: str) -> sonnx.FixResult:
    path = FOLDER / f"{name}.onnx"
    shapes = {value: tuple(int(each) if each.isdigit() else 1 for each in shape)
              for value, shape in sonnx.check(path).open_inputs}  # fmt: skip
    return fix(path, input_shapes=shapes, samples=1)


def test_every_model_has_an_outcome() -> None:
    assert {path.stem for path in FOLDER.glob("*.onnx")} == CONFORM | LEFT.keys() | REFUSED.keys()


@each_case("name", sorted(CONFORM), ids=str)
def test_the_model_conforms_after_fix(name: str) -> None:
    assert sonnx.check(FOLDER / f"{name}.onnx").exit_code() == 1
    assert fixed(name).after.exit_code() == 0


@each_case("name", sorted(LEFT), ids=str)
def test_the_report_names_what_the_profile_lacks(name: str) -> None:
    left = fixed(name).after.roots
    outside = [each for each in left if each.rule == "operator-in-profile"]
    assert {each.where.operator for each in outside} == LEFT[name]
    assert all(repr(each.where.operator) in each.actual for each in outside)
    assert {each.rule for each in left} <= {"operator-in-profile", "explicit-shape", "explicit-type"}


@each_case("name", sorted(REFUSED), ids=str)
def test_the_refusal_says_why(name: str) -> None:
    with pytest.raises(UsageError, match=REFUSED[name]):
        fixed(name)
