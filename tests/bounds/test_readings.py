"""Forms that a runtime reads otherwise than their definitions have no bounds under the hypotheses about it."""

from __future__ import annotations

import numpy as np
import onnx.parser

import sonnx
from sonnx.bounds.result import Bounds
from sonnx.numerics.enclosures.hypotheses import predefined
from sonnx.numerics.enclosures.readings import readings_of
from sonnx.operators import find_operator
from tests.support.cases import each_case

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '


def bounded(text: str, hypotheses: str, size: tuple[int, ...]) -> Bounds:
    model = onnx.parser.parse_model(HEAD + text).SerializeToString()
    return sonnx.bound(model, {"x": (np.full(size, -1.0), np.full(size, 1.0))}, hypotheses, unchecked=True)


def quantized(dequantize: str, product: str, element: str = "int8") -> str:
    return (
        f"(float[2, 2] x) => (float[2, 2] y) <{element}[2, 2] w = {{1, 2, 3, 4}}, float s = {{0.5}}> "
        f"{{ d = DequantizeLinear({dequantize}, s) {product} }}"
    )


LSTM = (
    "(float[1, 1, 1] x) => (float[1, 1, 1] y) "
    "<float[1, 4, 1] w = {1, 1, 1, 1}, float[1, 4, 1] r = {1, 1, 1, 1}> { , y = LSTM<hidden_size = 1 %s>(x, w, r) }"
)
PAD = '(float[5] x) => (float[5] y) <int64[2] pads = {%s}> { y = Pad<mode = "%s">(x, pads) }'


@each_case(
    ("text", "size", "reason"),
    [
        (LSTM % ", clip = 0.5", (1, 1, 1), "does not clip"),
        (LSTM % "", (1, 1, 1), ""),
        (PAD % ("-1, 1", "wrap"), (5,), "first removes"),
        (PAD % ("0, 0", "wrap"), (5,), ""),
        (PAD % ("-1, 1", "constant"), (5,), ""),
        (quantized("w", "y = MatMul(x, d)"), (2, 2), "quantizes its first input"),
        (quantized("w", "t = Transpose(d) y = Gemm(x, t)"), (2, 2), "quantizes its first input"),
        (quantized("w", "y = MatMul(d, x)"), (2, 2), ""),
        (quantized("w", "y = Add(d, x)"), (2, 2), ""),
        (quantized("w", "y = MatMul(x, d)", "int32"), (2, 2), ""),
    ],
)
def test_a_deviating_form_is_not_bounded_under_hypotheses_about_the_runtime(
    text: str, size: tuple[int, ...], reason: str
) -> None:
    assert not bounded(text, "ieee-any", size)["y"].unbounded
    why = bounded(text, "onnxruntime-cpu", size)["y"].unbounded
    assert bool(why) is bool(reason)
    if reason:
        assert "not bounded under the hypotheses onnxruntime-cpu: " in why
        assert reason in why


def test_the_readings_are_those_of_measured_hypotheses() -> None:
    for name, hypotheses in predefined().items():
        assert bool(hypotheses.measured) is bool(hypotheses.readings.measured)
        for runtime, versions in hypotheses.readings.measured.items():
            assert set(versions) <= set(hypotheses.measured[runtime]), name


def test_forms_that_agree_are_of_bounded_operators_and_do_not_deviate() -> None:
    readings = readings_of("onnxruntime-cpu")
    assert len(readings.agrees) > 60
    for name, forms in readings.agrees.items():
        operator = find_operator(name)
        assert operator is not None
        assert operator.bound is not None
        deviating = [each.features for each in readings.deviations if each.operator == name]
        assert not any(features <= form for features in deviating for form in forms)
