"""Sigmoid, SiLU and the Gelu of Tanh as exporters write them out, over the reals; onnx.reference runs both sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.result import Answer
from tests.equivalence.test_unequal_models import EQUAL, answer

GELU = "q = Mul(c, p) s = Add(x, q) t = Mul(k, s) h = Tanh(t) a = Add(h, one) b = Mul(x, a) y = Mul(half, b)"
CONSTANTS = (
    "float one = {1.0}, float half = {0.5}, float two = {2.0}, float minus = {-1.0}, float three = {3.0}, "
    "float c = {0.044715}, float k = {0.7978846}, float[1] listed = {1.0}"
)


class Case(NamedTuple):
    """An operator or a short form, the same written out, and a part of this with what makes another function of it."""

    short: str
    written: str
    near_miss: tuple[str, str]


CASES = {
    "Sigmoid, by Div": Case(
        "y = Sigmoid(x)", "n = Neg(x) e = Exp(n) s = Add(e, one) y = Div(one, s)", ("(e, one)", "(e, two)")),
    "Sigmoid, by Reciprocal": Case(
        "y = Sigmoid(x)", "n = Neg(x) e = Exp(n) s = Add(one, e) y = Reciprocal(s)", ("n = Neg(x)", "n = Mul(x, one)")),
    "Sigmoid, by a factor": Case(
        "y = Sigmoid(x)", "n = Mul(x, minus) e = Exp(n) s = Add(e, one) y = Div(one, s)", ("minus", "two")),
    "Sigmoid of the opposite": Case(
        "n = Neg(x) y = Sigmoid(n)", "e = Exp(x) s = Add(e, one) y = Div(listed, s)", ("Exp(x)", "Exp(one)")),
    "Sigmoid, moved": Case(
        "a = Sigmoid(x) y = Transpose(a)", "t = Transpose(x) n = Neg(t) e = Exp(n) s = Add(e, one) y = Div(one, s)",
        ("Neg(t)", "Abs(t)")),
    "SiLU": Case(
        "a = Sigmoid(x) y = Mul(a, x)", "n = Neg(x) e = Exp(n) s = Add(e, one) y = Div(x, s)", ("(x, s)", "(n, s)")),
    "Gelu by Tanh": Case('y = Gelu <approximate = "tanh"> (x)', f"p = Pow(x, three) {GELU}", ("three", "two")),
    "Gelu by Tanh, of products": Case(
        'y = Gelu <approximate = "tanh"> (x)', f"r = Mul(x, x) p = Mul(x, r) {GELU}", ("Mul(half, b)", "Mul(one, b)")),
    "FastGelu": Case(
        "y = com.microsoft.FastGelu (x)", 'y = Gelu <approximate = "tanh"> (x)', ("tanh", "none")),
}  # fmt: skip


def model(body: str) -> onnx.ModelProto:
    head = '<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]> g (float[3, 3] x) => (float[3, 3] y)'
    return onnx.parser.parse_model(f"{head} <{CONSTANTS}> {{ {body} }}")


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_out_is_the_short_form(name: str) -> None:
    short, written = model(CASES[name].short), model(CASES[name].written)
    assert answer(short, written, runs=0) in EQUAL
    assert answer(written, short, runs=0) in EQUAL
    assert answer(written, written, runs=0) == Answer.IDENTICAL


@pytest.mark.parametrize("name", CASES)
def test_another_function_is_not(name: str) -> None:
    case = CASES[name]
    assert case.near_miss[0] in case.written
    other = model(case.written.replace(*case.near_miss))
    assert answer(model(case.short), other, runs=0) == Answer.UNDECIDED
    assert answer(other, model(case.written), runs=0) == Answer.UNDECIDED


@pytest.mark.parametrize("name", [name for name in CASES if name != "FastGelu"])
def test_both_sides_have_the_same_values(name: str) -> None:
    x = np.random.default_rng(4).standard_normal((3, 3)).astype(np.float32) * 4
    [short], [written] = (
        ReferenceEvaluator(model(each)).run(["y"], {"x": x}) for each in (CASES[name].short, CASES[name].written)
    )
    np.testing.assert_allclose(short, written, rtol=1e-5, atol=1e-6)


def test_other_bits_are_not_called_identical() -> None:
    """A division rounds once, the product with a rounded Sigmoid twice."""
    by_division = CASES["SiLU"].written
    by_product = "n = Neg(x) e = Exp(n) s = Add(e, one) r = Reciprocal(s) y = Mul(x, r)"
    assert answer(model(by_division), model(by_product), runs=0) == Answer.ROUNDING
    assert answer(model(CASES["SiLU"].short), model(by_product), runs=0) == Answer.ROUNDING
