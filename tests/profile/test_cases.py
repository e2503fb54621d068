"""Every case gets exactly the verdict it states, and every rule has a case that passes and one that fails."""

from __future__ import annotations

import re
from functools import cache

from sonnx.evidence.verification import wrong
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase, all_cases
from sonnx.profile.index import rules_by_slug
from tests.support.cases import DEEP

OPERATORS = {each.name for each in catalogue.operators()}


@cache
def general_rules(edition: str) -> tuple[object, ...]:
    """What an edition demands of every model: its element types and its general rules."""
    known = catalogue.editions()
    chosen, rules = known.editions[edition], (*catalogue.general_rules(), *catalogue.graph_rules())
    return chosen.element_types, tuple(rule.slug for rule in rules if known.in_force(rule, chosen.general))


def distinct_editions(case: RuleCase) -> list[str]:
    """The editions of a case, of several that have the same rules for its model the first."""
    found: dict[object, str] = {}
    operators = sorted(OPERATORS.intersection(re.findall(r"\w+", case.text)))
    for name in case.editions:
        texts = [(catalogue.edition_named(name).text_of(each)) for each in operators]
        stated = frozenset((case.expected_in(name) or {}).items())
        found.setdefault((*texts, general_rules(name), stated), name)
    return list(found.values())


def test_every_case_gets_its_verdict() -> None:
    """In every edition that differs for the case in a deep run, else in the first or the last of them, in turns."""
    found = {
        (case.id, edition): wrong(case, edition)
        for number, case in enumerate(all_cases())
        for listed in [distinct_editions(case)]
        for edition in (listed if DEEP else [listed[-(number % 2)]])
    }
    assert {name: said for name, said in found.items() if said} == {}


def test_titles_are_unique() -> None:
    names = [case.id for case in all_cases()]
    assert len(names) == len(set(names))


def test_cases_name_rules_that_exist() -> None:
    known = rules_by_slug().keys()
    assert {rule for case in all_cases() for rule in case.rules("invalid", "violates", "conforms")} <= known
    assert {edition for case in all_cases() for edition in case.expected} <= {"", *catalogue.editions().editions}


def test_every_rule_has_a_conforming_case() -> None:
    assert rules_by_slug().keys() - {slug for case in all_cases() for slug in case.rules("conforms")} == set()


NEVER_FAIL = {"operator-conditions", "training-graphs"}
"""Rules that pass or are not checked; test_not_checked.py and test_format_map.py show them."""


def test_every_rule_has_a_violating_case() -> None:
    violated = {slug for case in all_cases() for slug in case.rules("invalid", "violates")}
    assert rules_by_slug().keys() - violated == NEVER_FAIL
