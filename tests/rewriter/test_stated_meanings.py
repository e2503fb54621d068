"""Operators that `fix` writes by the steps of fused.toml, against the evaluator of onnx, which has each as a function.

A wrong step cannot hide behind a comparison of models that reads the same file.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import onnx
import onnx.parser
from onnx.reference import ReferenceEvaluator

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.interpretation.fused import fused_operators
from sonnx.equivalence.result import Answer
from tests.support.cases import each_case

TOLERANCE = 2e-5
"""The evaluator rounds at each step, too."""


def calls() -> Iterator[tuple[str, int, str, str]]:
    """Operators, operator sets, shapes of the output for an input a of [2, 4, 3, 5], and calls."""
    for name, attributes in (
        ("Elu", " <alpha = 0.5>"), ("Elu", ""), ("Selu", ""), ("Selu", " <alpha = 0.5, gamma = 2.0>"), ("Celu", ""),
        ("Celu", " <alpha = 2.0>"), ("HardSwish", ""), ("Softplus", ""), ("Mish", ""), ("Softsign", ""),
        ("ThresholdedRelu", ""), ("ThresholdedRelu", " <alpha = 0.25>"), ("Shrink", " <bias = 0.25, lambd = 1.5>"),
        ("LogSoftmax", ""),
        ("LogSoftmax", " <axis = 1>"),
    ):  # fmt: skip
        yield name, 18, "2, 4, 3, 5", f"{name}{attributes} (a)"
    yield "Swish", 24, "2, 4, 3, 5", "Swish <alpha = 0.5> (a)"
    for name in ("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMin"):
        yield name, 18, "2, 4, 1, 5", f"{name} (a, third)"
        yield name, 18, "2, 4, 3", f"{name} <keepdims = 0> (a, last)"
        yield name, 18, "1, 1, 1, 1", f"{name} (a)"
        yield name, 13, "2, 4, 3, 1", f"{name} <axes = [-1]> (a)"
    yield "ReduceLogSum", 18, "2, 4, 3, 1", "Abs(a) r = ReduceLogSum (y, last)"
    yield "InstanceNormalization", 18, "2, 4, 3, 5", "InstanceNormalization <epsilon = 0.5> (a, s, t)"
    yield "GroupNormalization", 21, "2, 4, 3, 5", "GroupNormalization <num_groups = 2> (a, s, t)"
    yield "RMSNormalization", 23, "2, 4, 3, 5", "RMSNormalization <axis = 2> (a, m)"
    yield "ArgMin", 13, "2, 4, 3, 1", "ArgMin <axis = -1, select_last_index = 1> (a)"
    yield "ArgMin", 13, "4, 3, 5", "ArgMin <keepdims = 0> (a)"
    yield "PRelu", 18, "2, 4, 3, 5", "PRelu (a, m)"


LISTS = (
    "<int64[1] third = {2}, int64[1] last = {-1}, float[4] s = {1, 2, -3, 0.5}, float[4] t = {0, 1, -1, 2}, "
    "float[3, 5] m = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, 0.5}>"
)


def source(operator_set: int, shape: str, call: str) -> bytes:
    output = "r" if " r = " in call else "y"
    head = f'<ir_version: 10, opset_import: ["" : {operator_set}]> g '
    element = "int64" if call.startswith("Arg") else "float"
    text = f"(float[2, 4, 3, 5] a) => ({element}[{shape}] {output}) {LISTS} {{ y = {call} }}"
    return bytes(onnx.parser.parse_model(head + text).SerializeToString())


@each_case(("name", "operator_set", "shape", "call"), calls)
def test_the_steps_are_the_operator(name: str, operator_set: int, shape: str, call: str) -> None:
    data = source(operator_set, shape, call)
    fixed = fix(data, samples=1, within_bound=True)
    assert fixed.after.verdict is Verdict.PASS, fixed.to_text()
    assert name in {rewrite.where.operator for rewrite in fixed.rewrites}
    assert fixed.validation.for_all_inputs in (Answer.IDENTICAL, Answer.ROUNDING)
    for scale in (1,) if name == "LogSoftmax" else (1, 30):  # the evaluator takes the logarithm of a softmax
        given = numpy.random.default_rng(5).standard_normal((2, 4, 3, 5)).astype(numpy.float32) * numpy.float32(scale)
        [found] = run(fixed.model_bytes(), {"a": given}).values()
        with numpy.errstate(all="ignore"):
            [wanted] = ReferenceEvaluator(onnx.ModelProto.FromString(data)).run(None, {"a": given})
        numpy.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE * scale)


COMPARED = {name for name, *_ in calls()}


def test_every_operator_of_the_standard_domain_is_compared() -> None:
    elsewhere = {"Gelu", "LayerNormalization", "QLinearConv", "QLinearMatMul", "SimplifiedLayerNormalization"}
    stated = {name for (domain, name), fused in fused_operators().items() if not domain and not fused[0].axiom}
    assert stated - elsewhere == COMPARED
