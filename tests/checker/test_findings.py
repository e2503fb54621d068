"""What a finding says beside its rule: the inputs an assumption is about, and the value that an absence means."""

from __future__ import annotations

import onnx.parser

import sonnx
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict
from tests.support.cases import each_case

HEAD = '<ir_version: 10, opset_import: ["" : 13]> g '


def report(text: str) -> Report:
    return sonnx.check(onnx.parser.parse_model(HEAD + text).SerializeToString())


def assumed(text: str) -> dict[str, dict[str, str]]:
    return {f.rule: dict(f.operands) for f in report(text).findings if f.verdict is Verdict.ASSUMED}


@each_case(
    ("text", "rule", "operands"),
    [
        ("(int32[2] p, int32[2] q) => (int32[2] y) { y = Div(p, q) }", "Div.integer-divisor-not-zero", {"B": "q"}),
        (
            "(int32[2] p, int32[2] q) => (int32[2] y) { y = Div(p, q) }",
            "Div.quotient-representable",
            {"A": "p", "B": "q"},
        ),
        ("(float[6] x, int64[2] s) => (float[2, 3] y) { y = Reshape(x, s) }", "Reshape.same-size", {"shape": "s"}),
        (
            "(float[6] x, int64[1] s) => (float[2] y) <int64[1] e = {4}, int64[1] a = {0}, int64[1] k = {1}>"
            "{ y = Slice(x, s, e, a, k) }",
            "Slice.result-not-empty",
            {"starts": "s"},
        ),
    ],
)
def test_an_assumption_names_the_inputs_it_is_about(text: str, rule: str, operands: dict[str, str]) -> None:
    assert assumed(text)[rule] == operands


CONV = "(float[1, 1, 5, 5] x, {} w) => (float[1, 1, 3, 3] y) {{ y = Conv(x, w) }}"


def absences(shape: str) -> dict[str, str]:
    def said(finding: Finding) -> tuple[str, str]:
        name, _, meaning = finding.actual.partition(" is not written; ONNX then takes ")
        return name, meaning

    return dict(said(each) for each in report(CONV.format(shape)).findings if each.rule == "no-default-values")


def test_an_absence_means_a_value() -> None:
    assert absences("float[1, 1, 3, 3]") == {
        "auto_pad": '"NOTSET"', "dilations": "[1, 1]", "group": "1", "kernel_shape": "[3, 3]",
        "pads": "[0, 0, 0, 0]", "strides": "[1, 1]",
    }  # fmt: skip


def test_an_absence_means_a_formula_where_the_model_does_not_determine_it() -> None:
    assert absences("float[1, 1, N, 3]")["kernel_shape"] == "W.shape[2:]"


@each_case(("edition", "number"), [("2025-10", 0), ("2025-11", 0), ("2026-08", 2), (None, 2)])
def test_demands_that_cannot_be_checked_are_notes(edition: str | None, number: int) -> None:
    model = onnx.parser.parse_model(HEAD + "(float[2] a) => (float[2] y) { y = Max(a) }").SerializeToString()
    found = sonnx.check(model, edition)
    assert found.verdict is Verdict.PASS
    assert sum(note.startswith("not checked: ") for note in found.notes) == number
