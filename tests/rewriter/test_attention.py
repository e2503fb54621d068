"""Operators of transformers that `fix` writes by their nodes: of ONNX against the evaluator of onnx, of onnxruntime
against itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.numerics.formats import Array
from sonnx.rewriter.fix import FixResult
from tests.equivalence.test_attention import CASES, pair
from tests.support.cases import crossed

HEADS = "float[2, 2, 3, 4] q, float[2, 2, 5, 4] k, float[2, 2, 5, 6] v"
CALLS = {
    "joined heads": ("float[2, 3, 8] q, float[2, 5, 8] k, float[2, 5, 6] v", "float[2, 3, 6] y",
                     "y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v)"),
    "causal, fewer queries": (HEADS, "float[2, 2, 3, 6] y", "y = Attention <is_causal = 1> (q, k, v)"),
    "shared keys": ("float[1, 4, 3, 2] q, float[1, 2, 5, 2] k, float[1, 2, 5, 2] v", "float[1, 4, 3, 2] y",
                    "y = Attention <scale = 0.3> (q, k, v)"),
    "shared keys, joined heads": ("float[1, 3, 8] q, float[1, 5, 4] k, float[1, 5, 6] v", "float[1, 3, 12] y",
                                  "y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)"),
    "a mask of numbers": (f"{HEADS}, float[3, 5] m", "float[2, 2, 3, 6] y", "y = Attention (q, k, v, m)"),
    "a causal mask of numbers": (f"{HEADS}, float[2, 1, 3, 5] m", "float[2, 2, 3, 6] y",
                                 "y = Attention <is_causal = 1> (q, k, v, m)"),
    "a mask of truth values, one row false": (f"{HEADS}, bool[2, 1, 3, 5] m", "float[2, 2, 3, 6] y",
                                              "y = Attention (q, k, v, m)"),
    "a causal mask of truth values, one row false": (f"{HEADS}, bool[3, 5] m", "float[2, 2, 3, 6] y",
                                                     "y = Attention <is_causal = 1> (q, k, v, m)"),
    "a past": ("float[1, 2, 1, 4] q, float[1, 2, 1, 4] k, float[1, 2, 1, 4] v, float[1, 2, 3, 4] pk, "
               "float[1, 2, 3, 4] pv", "float[1, 2, 1, 4] y, float[1, 2, 4, 4] nk, float[1, 2, 4, 4] nv",
               "y, nk, nv = Attention <is_causal = 1> (q, k, v, , pk, pv)"),
}  # fmt: skip
"""Inputs, outputs, and calls of ONNX Attention."""


def model(inputs: str, outputs: str, call: str, operator_set: int) -> onnx.ModelProto:
    text = f'<ir_version: 10, opset_import: ["" : {operator_set}]> g ({inputs}) => ({outputs}) {{ {call} }}'
    return onnx.parser.parse_model(text)


def given_for(source: onnx.ModelProto) -> Mapping[str, Array]:
    random, given = np.random.default_rng(3), dict[str, Array]()
    for value in source.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        given[value.name] = random.standard_normal(shape).astype(np.float32)
        if value.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
            given[value.name] = random.integers(0, 2, shape).astype(np.bool_)
            given[value.name][..., 1, :] = False
    return given


def rewritten(source: onnx.ModelProto) -> FixResult:
    fixed = fix(source.SerializeToString(), samples=1, within_bound=True)
    assert fixed.after.verdict is Verdict.PASS, fixed.to_text()
    assert "stated-attention" in {rewrite.name for rewrite in fixed.rewrites}
    assert fixed.validation.for_all_inputs is Answer.ROUNDING
    return fixed


@pytest.mark.parametrize(("name", "operator_set"), crossed(CALLS, [23, 24], every=2))
def test_attention_of_onnx(name: str, operator_set: int) -> None:
    source = model(*CALLS[name], operator_set)
    given = given_for(source)
    found = run(rewritten(source).model_bytes(), given)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(source).run(None, dict(given))
    for value, own in zip(source.graph.output, wanted, strict=True):
        np.testing.assert_allclose(found[value.name], own, rtol=2e-5, atol=2e-5)


REFUSED = {
    "softcap": (HEADS, "float[2, 2, 3, 6] y", "y = Attention <softcap = 2.0> (q, k, v)"),
    "scores as an output": (HEADS, "float[2, 2, 3, 6] y, float[2, 2, 3, 5] s", "y, , , s = Attention (q, k, v)"),
    "lengths without padding": (f"{HEADS}, int64[2] n", "float[2, 2, 3, 6] y", "y = Attention (q, k, v, , , , n)"),
}  # fmt: skip
"""Calls whose meaning is not stated: they stay."""


@pytest.mark.parametrize("name", REFUSED)
def test_calls_without_a_stated_meaning_stay(name: str) -> None:
    fixed = fix(model(*REFUSED[name], 24).SerializeToString(), samples=0, within_bound=True)
    assert {root.where.operator for root in fixed.after.roots if root.rule == "operator-in-profile"} == {"Attention"}


@pytest.mark.parametrize("name", ["Attention", "RotaryEmbedding", "MatMulNBits"])
def test_attention_of_onnxruntime(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    source = pair(name)[0]
    x = np.random.default_rng(3).standard_normal((2, 3, CASES[name].width)).astype(np.float32)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(source.SerializeToString(), options, providers=["CPUExecutionProvider"])
    [found] = run(rewritten(source).model_bytes(), {"x": x}).values()
    np.testing.assert_allclose(found, session.run(["y"], {"x": x})[0], rtol=1e-4, atol=1e-4)
