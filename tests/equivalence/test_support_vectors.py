"""Linear support vector machines become products: onnxruntime gives the same values, and a changed one is not equal."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.evidence.rewrite_cases import RewriteCase, rewrite_cases

ort = pytest.importorskip("onnxruntime")

CASES = [case for case in rewrite_cases() if "SVMRegressor" in case.before]


def changed(case: RewriteCase, name: str, value: object) -> bytes:
    """The model of a case with another first number of an attribute, or another text or whole number."""
    model = onnx.ModelProto.FromString(case.model_bytes())
    attributes = model.graph.node[0].attribute
    kept = {each.name: onnx.helper.get_attribute_value(each) for each in attributes}
    kept[name] = [value, *kept[name][1:]] if isinstance(value, float) else value
    del attributes[:]
    attributes.extend(onnx.helper.make_attribute(key, each) for key, each in kept.items())
    return model.SerializeToString()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_values_are_those_of_onnxruntime(case: RewriteCase) -> None:
    rows = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    after = sonnx.fix(case.model_bytes(), samples=0, within_bound=True).model_bytes()
    expected, computed = (ort.InferenceSession(data).run(None, {"a": rows})[0] for data in (case.model_bytes(), after))
    np.testing.assert_allclose(computed, expected, rtol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
@pytest.mark.parametrize("name", ["coefficients", "rho", "support_vectors"])
def test_a_changed_number_is_not_equal(case: RewriteCase, name: str) -> None:
    if name not in case.before:
        return
    after = sonnx.fix(case.model_bytes(), samples=0, within_bound=True).model_bytes()
    result = sonnx.equivalent(changed(case, name, 4.5), after, runs=0).result
    assert result.answer.at_any_size not in (Answer.IDENTICAL, Answer.ROUNDING)


@pytest.mark.parametrize(
    ("name", "value"), [("kernel_type", "RBF"), ("post_transform", "LOGISTIC"), ("one_class", 1), ("n_supports", 1)]
)
def test_another_machine_stays(name: str, value: object) -> None:
    after = sonnx.fix(changed(CASES[0], name, value), samples=0, within_bound=True)
    assert "SVMRegressor" in {node.op_type for node in onnx.ModelProto.FromString(after.model_bytes()).graph.node}
