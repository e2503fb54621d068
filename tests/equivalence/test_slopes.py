"""A HardSigmoid with the number nearest to 1/6: its own number decides first, then the slope 1/6."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer

NEAREST = "0.1666666716337204"
SIXTH = f"y = HardSigmoid <alpha = {NEAREST}, beta = 0.5> (x)"
OF_ITS_NUMBER = "a = Conv <kernel_shape = [1, 1]> (x, n, h) y = Clip(a, o, e)"
"""The product and the sum are rounded once, as in HardSigmoid."""
OF_A_SIXTH = "s = Add(x, three) c = Clip(s, o, six) y = Div(c, six)"
CONSTANTS = f"float[1, 1, 1, 1] n = {{{NEAREST}}}, float[1] h = {{0.5}}, float o = {{0}}, float e = {{1}}"
PAIRS = {
    "its number": (SIXTH, OF_ITS_NUMBER, Answer.IDENTICAL),
    "a sixth": (SIXTH, OF_A_SIXTH, Answer.ROUNDING),
    "another slope": (SIXTH.replace(NEAREST, "0.2"), OF_A_SIXTH, Answer.DIFFERENT),
}


def model(body: str, *, is_nested: bool) -> onnx.ModelProto:
    inner = body.replace("y =", "p =")
    if is_nested:
        body = f"y = If(b) <then_branch = t () => (float[1, 1, 2, 3] p) {{ {inner} }}, "
        body += "else_branch = f () => (float[1, 1, 2, 3] q) { q = Neg(x) }>"
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> g (bool b, float[1, 1, 2, 3] x) => (float[1, 1, 2, 3] y) '
        f"<{CONSTANTS}, float three = {{3}}, float six = {{6}}> {{ {body} }}"
    )


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_number_decides_before_the_slope(pair: str, is_nested: bool) -> None:
    first, second, answer = PAIRS[pair]
    models = [model(body, is_nested=is_nested) for body in (first, second)]
    assert sonnx.equivalent(*models).result.answer is answer
