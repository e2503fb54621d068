"""An operator that an edition specifies and no file describes is not checked, and that is never a pass."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.profile import catalogue

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
