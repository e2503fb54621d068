"""Attention of onnxruntime with grouped heads and with a past, against Attention-23 of ONNX and against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.result import Answer
from sonnx.numerics.formats import Array
from tests.equivalence.test_unequal_models import EQUAL, answer


class Case(NamedTuple):
    """The shapes of the inputs, and y, k and v by an operator of onnxruntime and by Attention of ONNX."""

    shapes: Mapping[str, tuple[int, ...]]
    own: str
    meant: str
    near_miss: tuple[str, str]
    lengths: tuple[int, int] = (0, 1)
    """The length of each row less one, and that of the longest."""


PROMPT = {"q": (2, 3, 32), "key": (2, 3, 16), "value": (2, 3, 16)}
STEP = {
    "q": (2, 1, 32), "key": (2, 1, 16), "value": (2, 1, 16), "before": (2, 2, 4, 8), "earlier": (2, 2, 4, 8),
}  # fmt: skip
LATER = {"q": (1, 2, 32), "key": (1, 2, 16), "value": (1, 2, 16), "before": (1, 2, 4, 8), "earlier": (1, 2, 4, 8)}
HEADS = {"q": (2, 2, 8), "key": (2, 2, 8), "value": (2, 2, 8), "before": (2, 2, 3, 4), "earlier": (2, 2, 3, 4)}
GROUPED = "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2{}>"
ATTENTION = "Attention <q_num_heads = {}, kv_num_heads = 2{}>"
CAUSAL = ATTENTION.format(4, ", is_causal = 1")
CASES = {
    "a prompt": Case(
        PROMPT, f"y = {GROUPED.format('')} (q, key, value, , , rows, total)", f"y = {CAUSAL} (q, key, value)",
        (", is_causal = 1", ""), (2, 3)),
    "another scale": Case(
        PROMPT, f"y = {GROUPED.format(', scale = 0.3')} (q, key, value, , , rows, total)",
        f"y = {ATTENTION.format(4, ', is_causal = 1, scale = 0.3')} (q, key, value)",
        ("scale = 0.3", "scale = 0.25"), (2, 3)),
    "one token after a past": Case(
        STEP, f"y, k, v = {GROUPED.format('')} (q, key, value, before, earlier, rows, total)",
        f"y, k, v = {CAUSAL} (q, key, value, , before, earlier)", ("before, earlier", "earlier, before"), (4, 5)),
    "two tokens after a past": Case(
        LATER, f"y, k, v = {GROUPED.format('')} (q, key, value, before, earlier, rows, total)",
        f"y, k, v = {CAUSAL} (q, key, value, , before, earlier)", (", is_causal = 1", ""), (5, 6)),
    "MultiHeadAttention with a past": Case(
        HEADS, "y, k, v = com.microsoft.MultiHeadAttention <num_heads = 2> (q, key, value, , , , before, earlier)",
        f"y, k, v = {ATTENTION.format(2, '')} (q, key, value, , before, earlier)", ("2>", "2, is_causal = 1>")),
}  # fmt: skip


def model(case: Case, body: str) -> onnx.ModelProto:
    inputs = ", ".join(f"float[{', '.join(map(str, shape))}] {name}" for name, shape in case.shapes.items())
    outputs = "float y, float k, float v" if "y, k" in body else "float y"
    text = f'<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]> g ({inputs}) => ({outputs}) {{ {body} }}'
    made = onnx.parser.parse_model(text)
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    if "rows" in body:
        batch, (rows, total) = case.shapes["q"][0], case.lengths
        made.graph.initializer.extend([
            helper.make_tensor("rows", onnx.TensorProto.INT32, [batch], [rows] * batch),
            helper.make_tensor("total", onnx.TensorProto.INT32, [], [total]),
        ])  # fmt: skip
    return made


@pytest.mark.parametrize("name", CASES)
def test_it_is_attention_of_onnx(name: str) -> None:
    case = CASES[name]
    own, meant = model(case, case.own), model(case, case.meant)
    assert answer(own, meant, runs=0) in EQUAL
    assert answer(meant, own, runs=0) in EQUAL
    assert case.near_miss[0] in case.meant
    other = model(case, case.meant.replace(*case.near_miss))
    assert answer(own, other, runs=0) == Answer.UNDECIDED


@pytest.mark.parametrize("name", CASES)
def test_what_a_runtime_computes(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    case, random = CASES[name], np.random.default_rng(3)
    inputs: dict[str, Array] = {
        label: random.standard_normal(shape).astype(np.float32) for label, shape in case.shapes.items()
    }
    session = runtime.InferenceSession(model(case, case.own).SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = ["y", "k", "v"] if "y, k" in case.own else ["y"]
    wanted = ReferenceEvaluator(model(case, case.meant)).run(outputs, inputs)
    for one, other in zip(session.run(outputs, inputs), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attribute", ["local_window_size = 2", "softcap = 1.0", "smooth_softmax = 1", "do_rotary = 1"])
def test_attributes_without_a_stated_meaning(attribute: str) -> None:
    case = CASES["a prompt"]
    own = model(case, case.own.replace("kv_num_heads = 2", f"kv_num_heads = 2, {attribute}"))
    assert answer(own, model(case, case.meant), runs=0) == Answer.UNDECIDED
    assert answer(own, own, runs=0) in EQUAL


def test_other_lengths_have_no_stated_meaning() -> None:
    case = CASES["a prompt"]
    shorter = case._replace(lengths=(1, 3))
    assert answer(model(shorter, case.own), model(case, case.meant), runs=0) == Answer.UNDECIDED
