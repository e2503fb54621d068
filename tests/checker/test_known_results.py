"""What a check remembers or prepares is what an evaluation of the same facts gives, and it counts the same visits."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import sonnx
from sonnx.checker import rules
from sonnx.checker.rules import ActiveRules, Condition, Listing, RuleResult, evaluate_rule
from sonnx.evidence.verification import wrong
from sonnx.graph.views import Views
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Evaluator, evaluate
from sonnx.language.preparation import NotKnown, Repeated, prepared
from sonnx.language.steps import OutOfFuel
from sonnx.profile import catalogue
from sonnx.profile.cases import cases
from tests.support.cases import examples, spread
from tests.support.families import FAMILIES

CASES = spread(cases(), examples(300, 3000))


def check_all() -> None:
    """Check the cases and a small file of each family."""
    default = catalogue.editions().default
    for case in CASES:
        if default in case.editions:
            assert not wrong(case, default)
    for family in FAMILIES:
        sonnx.check(family.of_size(1000))


def is_chained(expression: Expression) -> bool:
    """Whether it compares several values in a chain, of which a prepared one visits those in the middle twice."""
    return any(isinstance(each, ast.Compare) and len(each.ops) > 1 for each in ast.walk(expression.tree))


def test_results_that_are_remembered_are_those_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """One memory for all these models, so that many more facts meet in it than in one model."""
    shared, original, compared = dict[tuple[str, str], Condition](), Condition.result, list[bool]()

    def result(self: Condition, views: Views, listing: Listing | None = None) -> RuleResult:
        found = original(self, views, None)
        assert found == evaluate_rule(self.rule, self.demand, views.names), views.names
        compared.append(found.actual != "")
        return found

    monkeypatch.setattr(ActiveRules, "_conditions", shared)
    monkeypatch.setattr(rules, "MOST_REMEMBERED", 1 << 20)
    monkeypatch.setattr(Condition, "result", result)
    check_all()
    assert sum(compared) > 500
    assert len(compared) > 2 * sum(len(each._results) for each in shared.values())


def test_prepared_expressions_are_evaluated_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    known, decided = cache(prepared), list[str]()

    def value(self: Repeated, names: Mapping[str, Any]) -> Any:
        slow, fast = Evaluator(), Evaluator()
        expected = evaluate(self.expression, names, slow)
        try:
            found = known(self.expression)(names, fast)
        except (NotKnown, OutOfFuel):
            return expected
        assert (found, type(found)) == (expected, type(expected)), (self.expression.text, names)
        assert fast.fuel == slow.fuel or (fast.fuel < slow.fuel and is_chained(self.expression)), self.expression.text
        decided.append(self.expression.text)
        return expected

    monkeypatch.setattr(Repeated, "value", value)
    check_all()
    assert len(set(decided)) > 300
