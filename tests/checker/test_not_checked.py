"""An operator that an edition specifies and no file describes is not checked, and that is never a pass."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.profile import catalogue
from tests.support.invalid_models import justified

MODEL = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] a) => (float[2] y) { y = Relu(a) }'


def test_an_operator_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx.parser.parse_model(MODEL).SerializeToString()
    assert sonnx.check(model).verdict == "pass"
    described = catalogue.operator
    monkeypatch.setattr(catalogue, "operator", lambda name: None if name == "Relu" else described(name))
    report = sonnx.check(model)
    assert [(finding.rule, finding.verdict) for finding in report.findings] == [("operator-in-profile", "not-checked")]
    assert (report.verdict, report.exit_code(), report.exit_code(accept_assumptions=True)) == ("not-checked", 3, 3)
    assert report.coverage.nodes_not_checked == 1


def test_what_onnx_says_of_an_operator_outside_is_not_checked() -> None:
    """A record can justify that the operator is outside, and not that nobody looked at its types and shapes."""
    text = MODEL.replace("Relu", "Acosh")
    report = sonnx.check(onnx.parser.parse_model(text).SerializeToString(), hashed=True)
    found = {(finding.rule, finding.verdict, finding.cause) for finding in report.findings}
    outside = ("operator-in-profile", "fail", "")
    assert found == {outside, ("operator-conditions", "not-checked", "operator-in-profile")}
    assert report.exit_code() == 1
    assert (justified(report).verdict, justified(report).exit_code(accept_assumptions=True)) == ("not-checked", 3)
