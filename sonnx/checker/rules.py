"""The active rules of a check, and the evaluation of one rule on the facts of one subject.

A result holds no names of the model, so that equal facts are evaluated once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sonnx.checker import graph_rules
from sonnx.checker.graph_rules import Decision
from sonnx.checker.verdicts import Verdict
from sonnx.graph.transfer import demands
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause
from sonnx.language.explainer import explain
from sonnx.language.known_numbers import KnownNumbers
from sonnx.language.steps import OutOfFuel
from sonnx.language.structure import fields
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Editions, Rule
from sonnx.profile.signature import Signature, active_condition

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring


class ActiveRules(Struct, frozen=True, eq=False, dict=True):
    """The rules of one check: those of an edition, with `strict` versions of operators, and those of a tailoring."""

    edition: Edition
    strict: bool = False
    tailoring: Tailoring | None = None

    @cached_property
    def editions(self) -> Editions:
        """All texts and editions."""
        return catalogue.editions()

    @cached_property
    def general(self) -> tuple[tuple[Rule, Expression], ...]:
        """The active rules of general.toml and of the tailoring, each with its condition under this edition."""
        rules = ((rule, self._demand(rule)) for rule in catalogue.general_rules())
        own = self.tailoring.conditions if self.tailoring else ()
        return (*((rule, demand) for rule, demand in rules if demand is not None), *own)

    def _demand(self, rule: Rule) -> Expression | None:
        return active_condition(rule, self.edition.general, self.editions)

    @cached_property
    def graph(self) -> tuple[Rule, ...]:
        """The active rules that a function decides."""
        own = [rule for rule, _ in self.tailoring.decided] if self.tailoring else []
        known = catalogue.graph_rules()
        return (*(rule for rule in known if self.editions.in_force(rule, self.edition.general)), *own)

    @cached_property
    def slugs(self) -> frozenset[str]:
        """The slugs of the active rules, those of operators excepted."""
        return frozenset({rule.slug for rule, _ in self.general} | {rule.slug for rule in self.graph})

    @cached_property
    def _graph_by_subject(self) -> dict[str, tuple[Rule, ...]]:
        return {}

    @cached_property
    def _by_subject(self) -> dict[str, tuple[Any, ...]]:
        return {}

    def general_rules_about(self, subject: str) -> tuple[tuple[Rule, Expression], ...]:
        """The active general rules about a subject, each with its condition."""
        found = self._by_subject.get(subject)
        if found is None:
            found = self._by_subject[subject] = tuple(each for each in self.general if each[0].subject == subject)
        return found

    def graph_rules_about(self, subject: str) -> tuple[Rule, ...]:
        """The active rules about a subject that a function decides."""
        found = self._graph_by_subject.get(subject)
        if found is None:
            found = self._graph_by_subject[subject] = tuple(rule for rule in self.graph if rule.subject == subject)
        return found

    def decide(self, rule: Rule) -> Decision:
        """The function that decides a rule."""
        own = dict(self.tailoring.decided).get(rule) if self.tailoring else None
        return own or graph_rules.decide(rule)

    @cached_property
    def _readings(self) -> dict[tuple[str, str], _Reading | None]:
        return {}

    @cached_property
    def _results(self) -> dict[object, RuleResult]:
        """The results of rules that hold, do not apply or fail, by what they read."""
        return {}

    @cached_property
    def _verdicts(self) -> dict[object, Verdict]:
        return {}

    @cached_property
    def _demands(self) -> dict[Signature, tuple[tuple[Rule, Expression | None], ...]]:
        return {}

    def demands(self, made: Signature) -> tuple[tuple[Rule, Expression | None], ...]:
        """The rules of a signature, each with its condition under the text in force, None where it has none."""
        found = self._demands.get(made)
        if found is None:
            found = self._demands[made] = tuple(demands(made, self.editions))
        return found

    def _reading(self, rule: Rule, demand: Expression) -> _Reading | None:
        key = (rule.slug, demand.text)
        if key not in self._readings:
            self._readings[key] = _reading(demand, rule.when)
        return self._readings[key]

    def evaluate(
        self, rule: Rule, demand: Expression, names: Mapping[str, Any], listing: Listing | None = None
    ) -> RuleResult:
        """As `evaluate_rule`; facts that agree in all that a rule reads are evaluated once."""
        reading = self._reading(rule, demand)
        if reading is None:
            return evaluate_rule(rule, demand, names, listing)
        key = (rule.slug, demand.text, *reading.of(names))
        result = self._results.get(key)
        if result is None:
            result = evaluate_rule(rule, demand, names, listing)
            explained = listing is None or not listing.is_full(rule, result.verdict)
            if result.verdict in _COUNTED or (result.verdict is Verdict.FAIL and explained):
                self._results[key] = result
        return result

    def verdict(self, rule: Rule, demand: Expression, names: Mapping[str, Any]) -> Verdict:
        """The verdict of `evaluate`, faster because nothing is explained; an all(...) over an empty list passes."""
        reading = self._reading(rule, demand)
        key = None if reading is None else (rule.slug, demand.text, *reading.of(names))
        verdict = None if key is None else self._verdicts.get(key)
        if verdict is None:
            verdict = _verdict_of(rule, demand, names)
            if key is not None:
                self._verdicts[key] = verdict
        return verdict


class RuleResult(Struct, frozen=True):
    """The result of one rule for one subject; `names` are the formal names in `actual`."""

    rule: Rule
    verdict: Verdict
    actual: str = ""
    requires: str = ""
    breaks_onnx: bool = False
    cause: str = ""
    names: tuple[str, ...] = ()


class SubjectResults(Struct, frozen=True, eq=False):
    """The results of all rules for equal subjects: passes and not applicable ones are `counted`, others `reported`."""

    counted: tuple[RuleResult, ...]
    reported: tuple[RuleResult, ...]


class Listing:
    """The number of results of each rule with each verdict; those beyond `most` are counted and not listed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.numbers: Counter[tuple[str, Verdict]] = Counter()

    def takes(self, rule: Rule, verdict: Verdict) -> bool:
        """Count a result; whether it is listed."""
        key = rule.slug, verdict
        number = self.numbers[key] = self.numbers[key] + 1
        return number <= self.most

    def is_full(self, rule: Rule, verdict: Verdict) -> bool:
        """Whether no further result is listed, so that nobody reads its explanation."""
        return self.numbers[rule.slug, verdict] >= self.most


_SHARED_FIELDS = frozenset({"type", "kind", "holds_sparse"})
"""Fields of tensors that many calls with different shapes share."""

_COUNTED = (Verdict.PASS, Verdict.NOT_APPLICABLE)
_NAME = re.compile(r"\b[A-Za-z_]\w*(?:\[\d+\])?")


def subject_results(results: Iterable[RuleResult]) -> SubjectResults:
    """The results, divided into those that are counted and those that are reported."""
    counted, reported = list[RuleResult](), list[RuleResult]()
    for result in results:
        (counted if result.verdict in _COUNTED else reported).append(result)
    return SubjectResults(tuple(counted), tuple(reported))


class _Reading(NamedTuple):
    """The names a rule reads, and how to get the fields it reads of a tensor."""

    names: tuple[str, ...]
    fields: Callable[[TensorFacts], object]

    def of(self, names: Mapping[str, Any]) -> Iterator[object]:
        """The facts as far as the rule reads them."""
        for name in self.names:
            value = names.get(name)
            if isinstance(value, TensorFacts):
                yield self.fields(value)
            elif isinstance(value, tuple) and type(value) is not KnownNumbers:
                yield tuple([self.fields(each) if isinstance(each, TensorFacts) else each for each in value])
            else:
                yield tuple(value.items()) if isinstance(value, dict) else value


def _reading(demand: Expression, when: Expression | None) -> _Reading | None:
    """What a rule reads; None if it reads what differs at most calls: shapes and values."""
    parts = [demand] if when is None else [demand, when]
    read = sorted(frozenset[str]().union(*map(fields, parts)))
    if any(each.built_ins for each in parts) or not _SHARED_FIELDS.issuperset(read):
        return None
    names = frozenset[str]().union(*(each.names for each in parts))
    return _Reading(tuple(sorted(names)), attrgetter(*read) if read else lambda tensor: None)


def evaluate_rule(
    rule: Rule, demand: Expression, names: Mapping[str, Any], listing: Listing | None = None
) -> RuleResult:
    """The result of a rule whose active condition is `demand`, on facts by name; not explained if `listing` is full."""
    if rule.when is not None:
        applies = _value(rule.when, names)
        if applies is False:
            return not_applying(rule)
        if isinstance(applies, Unknown):
            return _unknown(rule, rule.when, applies, names, listing)
    value = _value(demand, names)
    if isinstance(value, Unknown):
        return _unknown(rule, demand, value, names, listing)
    if value:
        try:
            empty = demand.over is not None and demand.over_nothing(Evaluator(), names)
            return over_nothing(rule, demand) if empty else passing(rule)
        except OutOfFuel as error:
            return _unknown(rule, demand, Unknown(UnknownCause.NOT_STATED, str(error)), names, listing)
    return _failed(rule, demand, names, listing)


def is_out_of_place(rule: Rule, names: Mapping[str, Any]) -> bool:
    """Whether the rule's `when` is false, whatever other rules say: a rule about another element type."""
    return rule.when is not None and _value(rule.when, names) is False


def passing(rule: Rule) -> RuleResult:
    """The result of a rule that holds."""
    return RuleResult(rule, Verdict.PASS)


def not_applying(rule: Rule) -> RuleResult:
    """The result of a rule whose `when` is false."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"applies only where {rule.when.text if rule.when else ''}")


def over_nothing(rule: Rule, demand: Expression) -> RuleResult:
    """The result of a rule that holds because the list of an outermost all(...) is empty."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"{demand.over[0] if demand.over else ''} is empty")


def _verdict_of(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> Verdict:
    for condition, if_false in ((rule.when, Verdict.NOT_APPLICABLE), (demand, Verdict.FAIL)):
        value = True if condition is None else _value(condition, names)
        if isinstance(value, Unknown):
            return _of_unknown(value)
        if not value:
            return if_false
    return Verdict.PASS


def _of_unknown(value: Unknown) -> Verdict:
    return Verdict.ASSUMED if value.cause is UnknownCause.RUN_TIME else Verdict.UNDECIDED


def _value(expression: Expression, names: Mapping[str, Any]) -> Any:
    try:
        return expression.evaluate(Evaluator(), names)
    except OutOfFuel as error:
        return Unknown(UnknownCause.NOT_STATED, str(error))


def _failed(rule: Rule, demand: Expression, names: Mapping[str, Any], listing: Listing | None) -> RuleResult:
    breaks_onnx = rule.kind == "validity" or (rule.onnx is not None and _value(rule.onnx, names) is False)
    found = RuleResult(rule, Verdict.FAIL, f"{demand.text} does not hold", demand.text, breaks_onnx)
    return _explained(found, demand, names, listing)


def _unknown(
    rule: Rule, demand: Expression, value: Unknown, names: Mapping[str, Any], listing: Listing | None
) -> RuleResult:
    found = RuleResult(rule, _of_unknown(value), value.reason, demand.text, False, value.because)
    return _explained(found, demand, names, listing)


def _explained(result: RuleResult, demand: Expression, names: Mapping[str, Any], listing: Listing | None) -> RuleResult:
    """The result with what the model states, where that is listed."""
    if listing is not None and listing.is_full(result.rule, result.verdict):
        return result
    actual = explain(demand, names) or result.actual
    return replace(result, actual=actual, names=_names_in(actual, names))


def _names_in(actual: str, names: Mapping[str, Any]) -> tuple[str, ...]:
    found = dict.fromkeys(_NAME.findall(actual))
    return tuple(name for name in found if name.partition("[")[0] in names)


def relying(rule: Rule, cause: str) -> RuleResult:
    """The result of a rule that cannot be evaluated because another one failed."""
    return RuleResult(rule, Verdict.UNDECIDED, f"relies on {cause}", "", False, cause)
