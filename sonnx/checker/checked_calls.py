"""The calls of a model as the check evaluates them: the facts of each, and the results of its operator's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sonnx.checker.facts_domain import FactsDomain
from sonnx.checker.request import CheckRequest
from sonnx.checker.rules import ActiveRules, Demands, RuleResult
from sonnx.graph.call import Calls
from sonnx.graph.interpreter import interpret
from sonnx.graph.views import Views
from sonnx.language.steps import steps_of_model
from sonnx.model.ir import Model
from sonnx.model.symbols import bind_symbols
from sonnx.profile.signature import Signature


class CheckedCall(Struct, frozen=True, eq=False):
    """A call with the facts that the rules read, by name, and their results in order."""

    signature: Signature
    names: Mapping[str, Any]
    results: tuple[RuleResult, ...]


class _RecordingDomain(FactsDomain):
    """The domain of the check; `calls` has each call that it evaluated."""

    def __init__(self, rules: ActiveRules) -> None:
        super().__init__(rules)
        self.calls: list[CheckedCall] = []

    def own_results(self, signature: Signature, demands: Demands, views: Views) -> list[RuleResult]:
        rule_results = super().own_results(signature, demands, views)
        self.calls.append(CheckedCall(signature, dict(views.names), tuple(rule_results)))
        return rule_results


def checked_calls(model: Model, request: CheckRequest) -> list[CheckedCall]:
    """The different calls of a model, in the order in which the check comes to them.

    Raises:
        UsageError: a symbol that the model does not have.
    """
    rules = request.active_rules()
    sized, domain = bind_symbols(model, request.bind, request.input_shapes), _RecordingDomain(rules)
    with steps_of_model(model.limits["steps"]):
        interpret(sized, domain, Calls(sized, rules.edition, strict=rules.strict))
    return domain.calls
