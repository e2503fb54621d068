"""Inputs that `fix --input` fixes: the rest of the model follows from the number, and nothing else is lost."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import UsageError
from sonnx.equivalence.result import Answer
from tests.support.cases import each_case

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, int64 rate, float[n] late) => (float[2, 3] y)
<int64 known = {16000}> {
  is_known = Equal (rate, known)
  y = If (is_known) <
    then_branch = t () => (float[2, 3] p) { p = Relu (x) },
    else_branch = e () => (float[2, 3] p) { p = Tanh (x) }
  >
}"""
MODEL = bytes(onnx.parser.parse_model(TEXT).SerializeToString())


@each_case(("number", "operator"), [("16000", "Relu"), ("8000", "Tanh"), ("-1", "Tanh")])
def test_the_condition_is_decided(number: str, operator: str) -> None:
    found = sonnx.fix(MODEL, input=[f"rate={number}"])
    graph = onnx.ModelProto.FromString(found.model_bytes()).graph
    assert found.after.exit_code() == 0
    assert [node.op_type for node in graph.node] == [operator]
    assert [value.name for value in graph.input] == ["x"]
    assert found.validation.for_all_inputs is Answer.IDENTICAL
    assert f"the model is for rate = {number} only; callers no longer give it" in found.to_text()


@each_case(
    ("given", "sentence"),
    [
        ("rat=1", "--input names 'rat', which is not an input; did you mean 'rate'?"),
        ("rate", "--input takes NAME=NUMBER, not 'rate'"),
        ("rate=", "--input takes NAME=NUMBER"),
        ("rate=half", "'half' is not a number of the type int64 of 'rate'"),
        ("rate=99999999999999999999", "is not a number of the type int64"),
        ("late=1", "its shape must be known"),
    ],
)
def test_another_input_is_refused(given: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("?", r"\?")):
        sonnx.fix(MODEL, input=[given])
