"""Ensembles of trees become sums of choices: onnxruntime gives the same values, and a changed tree is not equal."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.evidence.rewrite_cases import rewrite_cases

ort = pytest.importorskip("onnxruntime")

CASES = {case.title: case for case in rewrite_cases() if "TreeEnsembleRegressor" in case.before}
FEATURES = [-3.0, -2.0, 0.0, -0.0, 0.25, 0.5, np.nextafter(np.float32(0.5), np.float32(1)), 1.5, 2.0, np.inf, np.nan]
EQUAL = (Answer.IDENTICAL, Answer.ROUNDING)


def fixed(title: str) -> bytes:
    case = CASES[title]
    return sonnx.fix(case.model_bytes(), samples=0, within_bound=case.within_bound).model_bytes()


@pytest.mark.parametrize("title", CASES)
def test_the_values_are_those_of_onnxruntime(title: str) -> None:
    before, after = (ort.InferenceSession(data) for data in (CASES[title].model_bytes(), fixed(title)))
    for first in FEATURES:
        for last in FEATURES:
            rows = np.array([[first, 0, last], [last, 1, first]], np.float32)
            expected, computed = (model.run(None, {"a": rows})[0] for model in (before, after))
            np.testing.assert_allclose(computed, expected, rtol=1e-6)


@pytest.mark.parametrize("title", CASES)
@pytest.mark.parametrize(
    ("name", "place"), [("target_weights", 1), ("nodes_values", 0), ("nodes_featureids", 0), ("base_values", 0)]
)
def test_a_changed_tree_is_not_equal(title: str, name: str, place: int) -> None:
    model = onnx.ModelProto.FromString(CASES[title].model_bytes())
    changed = [each for each in model.graph.node[0].attribute if each.name == name]
    if not changed:
        assert name == "base_values"
        return
    numbers = changed[0].ints if name == "nodes_featureids" else changed[0].floats
    numbers[place] = 1 if name == "nodes_featureids" else numbers[place] + 1
    assert sonnx.equivalent(model.SerializeToString(), fixed(title), runs=0).result.answer.at_any_size not in EQUAL


def test_the_second_tree_needs_its_number() -> None:
    model = onnx.ModelProto.FromString(CASES["three trees, one of them a leaf, and a base value"].model_bytes())
    node = model.graph.node[0]
    kept = [each for each in node.attribute if each.name != "target_treeids"]
    del node.attribute[:]
    node.attribute.extend(kept)
    assert sonnx.fix(model.SerializeToString(), samples=0, within_bound=True).after.exit_code() == 1


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])
@pytest.mark.parametrize("nan_holds", [0, 1])
def test_every_comparison(mode: str, nan_holds: int) -> None:
    """The leaf by the comparison of Python, for the limit, its neighbours and special values."""
    limit = np.float32(0.5)
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor", ["a"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_modes=[mode, "LEAF", "LEAF"],
        nodes_values=[limit, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        nodes_missing_value_tracks_true=[nan_holds, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
        target_ids=[0, 0], target_weights=[1.0, 2.0],
    )  # fmt: skip
    numbers = [limit, np.nextafter(limit, np.float32(1)), np.nextafter(limit, np.float32(0)), *FEATURES, -np.inf]
    column = np.array(numbers, np.float32).reshape(-1, 1)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, column.shape) for name in "ay"]
    imports = [onnx.helper.make_opsetid(*each) for each in (("", 13), ("ai.onnx.ml", 1))]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    before = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    after = sonnx.fix(before, samples=0).model_bytes()
    holds = {"BRANCH_LEQ": column <= limit, "BRANCH_LT": column < limit, "BRANCH_GTE": column >= limit,
             "BRANCH_GT": column > limit}[mode] | (np.isnan(column) & bool(nan_holds))  # fmt: skip
    for model in (before, after):
        np.testing.assert_array_equal(ort.InferenceSession(model).run(None, {"a": column})[0], np.where(holds, 1, 2))
    assert sonnx.equivalent(before, after, runs=0).result.answer.at_any_size is Answer.IDENTICAL
