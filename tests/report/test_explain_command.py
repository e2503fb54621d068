"""The command that a finding prints explains the condition that failed: that of its edition and of its version."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest

import sonnx
from sonnx.checker.report import Finding, Report
from sonnx.evidence.verification import model_bytes
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase, all_cases
from sonnx.report.phrases import explain_command
from tests.support.cases import spread

DEFAULT = catalogue.editions().default


def failures(case: RuleCase) -> Iterator[tuple[Report, Finding]]:
    """The failures of rules with a condition in each edition for which the case states a verdict."""
    for edition in case.editions:
        report = sonnx.check(model_bytes(case), edition=edition, strict_versions=case.strict_versions)
        for finding in report.findings:
            if finding.verdict is sonnx.Verdict.FAIL and report.rules[finding.rule].require is not None:
                yield report, finding


def explained(command: str) -> sonnx.Explanation:
    """What the command explains."""
    program, word, name, *options = shlex.split(command)
    assert (program, word) == ("sonnx", "explain")
    chosen = dict(zip(options[::2], options[1::2], strict=True))
    version = chosen.pop("--model-version", None)
    edition = chosen.pop("--edition", None)
    assert not chosen
    return sonnx.explain(name, edition=edition, model_version=int(version) if version else None)


VIOLATING = [case for case in all_cases() if case.beside is None and case.rules("invalid", "violates")]


@pytest.mark.parametrize("case", spread(VIOLATING, 60), ids=lambda case: case.id)
def test_a_finding_names_the_command_of_its_condition(case: RuleCase) -> None:
    for report, finding in failures(case):
        command = explain_command(finding, report.rules[finding.rule], report.edition)
        subject = explained(command)
        conditions = {each.condition.text for each in subject.in_force if each.condition}
        conditions |= {rule.require.text for rule in subject.rules if rule.require and not subject.in_force}
        statements = {each.rule.statement for each in subject.in_force} | {rule.statement for rule in subject.rules}
        assert finding.requires in conditions | statements, command
        if finding.requires in conditions:
            assert f"condition {' '.join(finding.requires.split())}" in " ".join(subject.to_text().split())
        if report.edition == DEFAULT:
            assert command in " ".join(report.to_text().split())


@pytest.mark.parametrize(
    ("name", "version", "tensors"),
    [
        ("QuantizeLinear.y_zero_point-type", 13, ("y_zero_point", "Y")),
        ("QuantizeLinear.y_zero_point-type", 28, ("y_zero_point", "Y")),
        ("QuantizeLinear.y_scale-type", 28, ("y_scale",)),
    ],
)
def test_a_rule_about_types_is_named_by_what_it_constrains(name: str, version: int, tensors: tuple[str, ...]) -> None:
    """ONNX gives the letter T2 to other tensors from version to version."""
    (rule,) = sonnx.explain(name, model_version=version).rules
    assert rule.require is not None
    assert all(f"{tensor}.type in" in rule.require.text for tensor in tensors)


def test_a_withdrawn_name_says_where_its_demand_is() -> None:
    said = "'QuantizeLinear.T2-allowed' was withdrawn; its demand is that of QuantizeLinear.y_zero_point-type and "
    with pytest.raises(sonnx.UsageError, match=said):
        sonnx.explain("QuantizeLinear.T2-allowed")


def test_an_older_edition_has_the_condition_of_onnx() -> None:
    """R1 of 2026-08 wants equal shapes; the text of Max of 2025-11 broadcasts, and that of ONNX accepts 0 against 1."""
    for operator in catalogue.operators():
        for rule in operator.rules:
            if rule.onnx is None or rule.onnx == rule.require or rule.introduced == "onnx":
                continue
            for name, edition in catalogue.editions().editions.items():
                text = edition.text_of(operator.name)
                if text is None or catalogue.editions().in_force(rule, text) or rule.since > (operator.specified or 0):
                    continue
                said = sonnx.explain(rule.slug, edition=name).to_text()
                assert "this edition demands only what ONNX does" in said
                assert " ".join(rule.onnx.text.split()) in " ".join(said.split())


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "QuantizeLinear.output-type-named",
            {"model_version": 13},
            "names no rule that is in force",
        ),
        ("ArgMax.axis-not-negative", {"edition": "2025-10"}, "in force in edition 2025-10"),
        ("Conv", {"edition": "2025-10"}, "'Conv' names no rule"),
        ("zero-against-one", {"edition": "2025-10"}, "no rule has the name 'zero-against-one'"),
        ("E1", {"edition": "2024"}, "unknown edition '2024'"),
    ],
)
def test_what_is_not_in_force_is_an_error(name: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(sonnx.UsageError, match=said):
        sonnx.explain(name, **options)


def test_the_examples_are_of_the_version_and_the_edition() -> None:
    said = sonnx.explain("QuantizeLinear.y_zero_point-type", model_version=21).to_text()
    assert '["" : 21]' in said and '["" : 28]' not in said


def test_a_finding_names_the_errata_of_its_rule() -> None:
    """No 8-bit model of the export of torch conforms, because the page has sections for int32 only."""
    case = next(case for case in all_cases() if case.id == "dequantizelinear.md: int8")
    report = sonnx.check(model_bytes(case))
    (finding,) = report.findings
    assert finding.errata == ("dequantize-int32-only",)
    assert "errata    dequantize-int32-only: Only int32 to float is specified" in report.to_text()
    assert json.loads(report.to_json())["reports"][0]["findings"][0]["errata"] == ["dequantize-int32-only"]


def test_every_erratum_of_a_finding_is_of_its_text_or_an_older_one() -> None:
    texts = list(catalogue.editions().texts)
    for case in spread(VIOLATING, 30):
        for report, finding in failures(case):
            edition = catalogue.edition_named(report.edition)
            latest = edition.text_of(finding.rule.partition(".")[0]) if "." in finding.rule else None
            for name in finding.errata:
                first = catalogue.errata()[name].document[0]
                assert texts.index(first) <= texts.index(latest or edition.general)
            assert set(finding.errata) <= set(report.rules[finding.rule].errata)
