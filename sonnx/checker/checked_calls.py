"""The calls of a model as the check evaluates them: the facts of each, and the results of its operator's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sonnx.checker.facts_domain import FactsDomain
from sonnx.checker.rules import ActiveRules, Demands, RuleResult
from sonnx.graph.views import Views
from sonnx.profile.signature import Signature


class CheckedCall(Struct, frozen=True, eq=False):
    """A call with the facts that the rules read, by name, and their results in order."""

    signature: Signature
    names: Mapping[str, Any]
    results: tuple[RuleResult, ...]


class RecordingDomain(FactsDomain):
    """The domain of the check; it adds each call that it evaluates to `calls`, with every result explained."""

    def __init__(self, rules: ActiveRules, calls: list[CheckedCall]) -> None:
        super().__init__(rules)
        self.calls = calls

    def own_results(self, signature: Signature, demands: Demands, views: Views) -> list[RuleResult]:
        rule_results = super().own_results(signature, demands, views)
        self.calls.append(CheckedCall(signature, dict(views.names), tuple(rule_results)))
        return rule_results
