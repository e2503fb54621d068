"""Every case gets exactly the verdict it states, and every rule has a case that passes and one that fails."""

from __future__ import annotations

import pytest

from sonnx.evidence.verification import wrong
from sonnx.profile.cases import Case, cases
from sonnx.profile.catalogue import editions
from sonnx.profile.index import rules_by_slug

EXPECTED = [(case, edition) for case in cases() for edition in case.expected]


@pytest.mark.parametrize(("case", "edition"), EXPECTED, ids=[f"{case.id} [{e or 'default'}]" for case, e in EXPECTED])
def test_case(case: Case, edition: str) -> None:
    assert not wrong(case, edition)


def test_titles_are_unique() -> None:
    names = [case.id for case in cases()]
    assert len(names) == len(set(names))


def test_cases_name_rules_that_exist() -> None:
    known = rules_by_slug().keys()
    assert {rule for case in cases() for rule in case.rules("invalid", "violates", "conforms")} <= known
    assert {edition for case in cases() for edition in case.expected} <= {"", *editions().editions}


@pytest.mark.parametrize("slug", sorted(rules_by_slug()))
def test_every_rule_has_a_conforming_case(slug: str) -> None:
    assert any(slug in case.rules("conforms") for case in cases())


@pytest.mark.parametrize("slug", sorted(rules_by_slug()))
def test_every_rule_has_a_violating_case(slug: str) -> None:
    assert any(slug in case.rules("invalid", "violates") for case in cases())
