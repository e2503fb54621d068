"""Every case gets exactly the verdict it states, and every rule has a case that passes and one that fails."""

from __future__ import annotations

import pytest
from conftest import model_bytes

import sonnx
from sonnx.cases import Case, cases
from sonnx.catalogue import editions
from sonnx.selecting import every
from sonnx.verdict import Report, Verdict

EXPECTED = [(case, edition) for case in cases() for edition in case.expected]


def said(report: Report) -> dict[str, set[str]]:
    """What a report says in the words of a case; folded findings are not said."""
    found: dict[str, set[str]] = {}
    for finding in report.roots:
        word = "invalid" if finding.breaks_onnx else "violates" if finding.verdict is Verdict.FAIL else finding.verdict
        found.setdefault(str(word), set()).add(finding.rule)
    return found


@pytest.mark.parametrize(("case", "edition"), EXPECTED, ids=[f"{case.id} [{e or 'default'}]" for case, e in EXPECTED])
def test_case(case: Case, edition: str) -> None:
    report = sonnx.check(model_bytes(case), edition=edition or None, strict_versions=case.strict_versions)
    expected = {word: set(rules) for word, rules in case.expected[edition].items() if word != "conforms" and rules}
    assert said(report) == expected
    passed = {count.rule for count in report.counts if count.verdict is Verdict.PASS}
    assert case.expected[edition].get("conforms", frozenset()) <= passed


def test_titles_are_unique() -> None:
    names = [case.id for case in cases()]
    assert len(names) == len(set(names))


def test_cases_name_rules_that_exist() -> None:
    known = every().keys()
    assert {rule for case in cases() for rule in case.rules("invalid", "violates", "conforms")} <= known
    assert {edition for case in cases() for edition in case.expected} <= {"", *editions().editions}


@pytest.mark.parametrize("slug", sorted(every()))
def test_every_rule_has_a_conforming_case(slug: str) -> None:
    assert any(slug in case.rules("conforms") for case in cases())


@pytest.mark.parametrize("slug", sorted(every()))
def test_every_rule_has_a_violating_case(slug: str) -> None:
    assert any(slug in case.rules("invalid", "violates") for case in cases())
