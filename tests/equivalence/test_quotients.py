"""Quotients of two values that vary, against products with an inverse: equal over the reals, with other roundings."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer

NUMBERS = "<float one = {1}, float three = {3}, float four = {4}, float zero = {0}>"
WIDE, NARROW = "float[2, 3] x, float[2, 3] y", "float[2, 3] x, float[2, 1] y"


def answer(first: str, second: str, inputs: str) -> Answer:
    pair = [
        onnx.parser.parse_model(
            f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => (float[2, 3] z) {NUMBERS} {{ {body} }}'
        ).SerializeToString()
        for body in (first, second)
    ]
    return sonnx.equivalent(*pair, runs=0).result.answer


QUOTIENT = "z = Div(x, y)"
EQUAL = {
    "1 by": (QUOTIENT, "r = Div(one, y) z = Mul(x, r)"),
    "Reciprocal": (QUOTIENT, "r = Reciprocal(y) z = Mul(r, x)"),
    "factors": (
        "s = Mul(x, three) t = Mul(y, four) z = Div(s, t)",
        "r = Div(three, y) s = Div(r, four) z = Mul(x, s)",
    ),
    "of a sum": ("a = Add(x, x) z = Div(a, y)", "r = Reciprocal(y) b = Mul(x, r) c = Mul(x, r) z = Add(b, c)"),
    "normalized": ("a = Abs(y) e = Exp(a) z = Div(x, e)", "a = Abs(y) e = Exp(a) r = Reciprocal(e) z = Mul(x, r)"),
}
OTHERS = {
    "the other way": (QUOTIENT, "r = Reciprocal(x) z = Mul(y, r)"),
    "another factor": (QUOTIENT, "r = Div(three, y) z = Mul(x, r)"),
    "twice": (QUOTIENT, "r = Div(x, y) z = Mul(x, r)"),
    "of a sum": ("a = Add(x, one) z = Div(a, y)", "r = Reciprocal(y) b = Mul(x, r) z = Add(b, one)"),
    "0 times": ("s = Mul(y, zero) z = Div(x, s)", "z = Div(x, y)"),
}


@pytest.mark.parametrize("inputs", [WIDE, NARROW])
@pytest.mark.parametrize("name", EQUAL)
def test_a_quotient_is_a_product_with_the_inverse(name: str, inputs: str) -> None:
    first, second = EQUAL[name]
    assert answer(first, second, inputs) == Answer.ROUNDING == answer(second, first, inputs)


@pytest.mark.parametrize("inputs", [WIDE, NARROW])
@pytest.mark.parametrize("name", OTHERS)
def test_other_quotients(name: str, inputs: str) -> None:
    assert answer(*OTHERS[name], inputs) == Answer.UNDECIDED
