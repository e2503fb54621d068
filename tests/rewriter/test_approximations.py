"""Erf and Gelu by functions with a certified distance: the certificate, and runs against exact values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy
import onnx.parser
import pytest

from sonnx import fix, run
from sonnx.checker.verdicts import Verdict
from sonnx.report.fix_record import Grade
from sonnx.rewriter import erf_certificate
from tests.support.cases import each_case, examples

ROUNDINGS = 6e-7
"""More than what the roundings of the rational function add to its ideal value, of at most 1."""


def test_the_certificate_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run that is not deep with fewer and wider parts, whose bound is a few times larger."""
    stated = Fraction(erf_certificate.ERF_ERROR)
    monkeypatch.setattr(erf_certificate, "PARTS", examples(1 << 12, erf_certificate.PARTS))
    bound = erf_certificate.certified_error()
    assert bound <= examples(5, 1) * stated
    samples = numpy.linspace(0, 5, examples(5001, 20001))
    assert max(abs(rational(x) - math.erf(x)) for x in samples.tolist()) <= min(bound, stated)


def rational(x: float) -> float:
    """The function in float64, written without the code of the certificate."""
    c = min(max(x, -4.0), 4.0)
    numerator = sum(a * c ** (2 * k + 1) for k, a in enumerate(erf_certificate.NUMERATOR))
    return min(1.0, numerator / sum(b * c ** (2 * k) for k, b in enumerate(erf_certificate.DENOMINATOR)))


def source(call: str, count: int) -> bytes:
    text = f'<ir_version: 10, opset_import: ["" : 20]> g (float[{count}] a) => (float[{count}] y) {{ y = {call} }}'
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def exact_gelu(x: float) -> float:
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


def exact_tanh_gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@each_case(
    ("call", "function"),
    [("Erf (a)", math.erf), ("Gelu (a)", exact_gelu), ('Gelu <approximate = "tanh"> (a)', exact_tanh_gelu)],
)
def test_values_are_within_the_bound_and_the_roundings(call, function) -> None:
    given = numpy.concatenate([numpy.linspace(-12, 12, 977), [0.0, -0.0, 1e-30, 100, -100]]).astype(numpy.float32)
    fixed = fix(source(call, given.size), approximate=True, samples=0)
    assert fixed.after.verdict is Verdict.PASS
    assert fixed.validation.grade is Grade.APPROXIMATED
    assert all("certified" in each.changes for each in fixed.rewrites if each.name.startswith("approximated"))
    [found] = run(fixed.model_bytes(), {"a": given}).values()
    for x, y in zip(given.tolist(), found.tolist(), strict=True):
        assert abs(y - function(x)) <= ROUNDINGS * max(1, abs(x)), x


def test_nothing_is_approximated_without_the_option() -> None:
    for options in ({}, {"within_bound": True}):
        fixed = fix(source("Gelu (a)", 4), samples=0, **options)
        assert not fixed.rewrites
        assert fixed.validation.grade is Grade.SAME_BITS
