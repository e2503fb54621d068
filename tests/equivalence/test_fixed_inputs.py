"""`--input NAME=NUMBER`: the answer for one number of an input."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import UsageError
from sonnx.equivalence.result import Answer


def model(nodes: str, inputs: str = "float[3] x, float[3] k") -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => (float[3] y) {{ {nodes} }}'
    return onnx.parser.parse_model(text).SerializeToString()


TWICE, ONCE = model("y = Mul(x, k)"), model("y = Add(x, x)", "float[3] x")


def test_the_answer_is_for_the_number_and_says_so() -> None:
    report = sonnx.equivalent(TWICE, ONCE, input=["k=2"])
    assert report.result.answer is Answer.ROUNDING or report.result.answer is Answer.IDENTICAL
    assert report.exit_code == 0
    assert "under k = 2" in report.to_text().splitlines()[0]


@pytest.mark.parametrize("number", ["3", "-2"])
def test_another_number_gives_another_function(number: str) -> None:
    assert sonnx.equivalent(TWICE, ONCE, input=[f"k={number}"]).result.answer is Answer.DIFFERENT


def test_both_models_take_the_number_under_their_names() -> None:
    second = model("y = Mul(f, x)", "float[3] x, float[3] f")
    found = sonnx.equivalent(TWICE, second, input=["k=0.5"], renamed={"k": "f"}).result
    assert found.answer is Answer.IDENTICAL


@pytest.mark.parametrize("argument", ["z=1", "k", "k=two", "k="])
def test_other_arguments_are_refused(argument: str) -> None:
    with pytest.raises(UsageError):
        sonnx.equivalent(TWICE, ONCE, input=[argument])
