"""The active rules of a check, and the evaluation of one rule on the facts of one subject.

A result holds no names of the model, so that equal facts are evaluated once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from sys import maxsize
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sonnx.checker import graph_rules
from sonnx.checker.conditions import Conditions, StatedTailoring
from sonnx.checker.graph_rules import Decision
from sonnx.checker.verdicts import Verdict
from sonnx.graph.transfer import demands
from sonnx.graph.views import Views, key_of_parts
from sonnx.language.domain import Expression, given_key, input_key
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause, evaluate
from sonnx.language.explainer import explanation_of
from sonnx.language.steps import OutOfFuel
from sonnx.language.structure import view
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Editions, Rule, T
from sonnx.profile.profile_data import of_profile
from sonnx.profile.signature import Signature, active_condition, signature

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring


def signatures_in_force(edition: Edition) -> Iterator[Signature]:
    """Each operator that an edition names, planned ones included, in each of its versions, the specified one first."""
    for name in sorted({*edition.operators, *edition.planned}):
        described = catalogue.operator(name)
        for version in described.specified_first if described else ():
            resolved = signature(name, version, edition.name)
            if resolved is not None:
                yield resolved


def stated(tailoring: Tailoring | None) -> StatedTailoring | None:
    """A tailoring as a condition states it."""
    return None if tailoring is None else StatedTailoring(tailoring.name, tailoring.file, tailoring.sha256)


@of_profile
def _general_in_force(text: str) -> tuple[tuple[Rule, Expression], ...]:
    """The rules of general.toml under a text, each with its condition."""
    known = catalogue.editions()
    rules = ((rule, active_condition(rule, text, known)) for rule in catalogue.general_rules())
    return tuple((rule, demand) for rule, demand in rules if demand is not None)


@of_profile
def _graph_in_force(text: str) -> tuple[Rule, ...]:
    """The rules that a function decides under a text."""
    known = catalogue.editions()
    return tuple(rule for rule in catalogue.graph_rules() if known.in_force(rule, text))


@of_profile
def _decided_in_force(text: str, subject: str) -> tuple[tuple[Rule, Decision], ...]:
    """The rules about a subject that a function decides under a text, each with the function."""
    return tuple((rule, graph_rules.decision_of(rule)) for rule in _graph_in_force(text) if rule.subject == subject)


class ActiveRules(Struct, frozen=True, eq=False, dict=True):
    """The rules of one check: those of an edition, with `strict` versions of operators, and those of a tailoring."""

    edition: Edition
    strict: bool = False
    tailoring: Tailoring | None = None

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions of a verdict by these rules on a model as its file states it."""
        return Conditions(edition=self.edition.name, strict_versions=self.strict, tailoring=stated(self.tailoring))

    @cached_property
    def editions(self) -> Editions:
        """All texts and editions."""
        return catalogue.editions()

    @cached_property
    def general(self) -> tuple[tuple[Rule, Expression], ...]:
        """The active rules of general.toml and of the tailoring, each with its condition under this edition."""
        own = self.tailoring.conditions if self.tailoring else ()
        return (*_general_in_force(self.edition.general), *own)

    @cached_property
    def graph(self) -> tuple[Rule, ...]:
        """The active rules that a function decides."""
        own = [rule for rule, _ in self.tailoring.decided] if self.tailoring else []
        return (*_graph_in_force(self.edition.general), *own)

    @cached_property
    def slugs(self) -> frozenset[str]:
        """The slugs of the active rules, those of operators excepted."""
        return frozenset({rule.slug for rule, _ in self.general} | {rule.slug for rule in self.graph})

    @cached_property
    def _decided_by_subject(self) -> dict[str, tuple[tuple[Rule, Decision], ...]]:
        return {}

    @cached_property
    def _by_subject(self) -> dict[str, tuple[RuleCondition, ...]]:
        return {}

    def general_rules_about(self, subject: str) -> tuple[tuple[Rule, Expression], ...]:
        """The active general rules about a subject, each with its condition."""
        return tuple(row for row in self.general if row[0].subject == subject)

    def conditions_about(self, subject: str) -> tuple[RuleCondition, ...]:
        """The active general rules about a subject, with their results so far."""
        rule_conditions = self._by_subject.get(subject)
        if rule_conditions is None:
            rule_conditions = self._by_subject[subject] = tuple(
                starmap(self.condition, self.general_rules_about(subject))
            )
        return rule_conditions

    def decided_about(self, subject: str) -> tuple[tuple[Rule, Decision], ...]:
        """The active rules about a subject that a function decides, each with the function."""
        decided = self._decided_by_subject.get(subject)
        if decided is None:
            own = [row for row in self.tailoring.decided if row[0].subject == subject] if self.tailoring else []
            decided = self._decided_by_subject[subject] = (*_decided_in_force(self.edition.general, subject), *own)
        return decided

    @cached_property
    def _conditions(self) -> dict[tuple[Rule, str], RuleCondition]:
        return {}

    @cached_property
    def _demands(self) -> dict[Signature, Demands]:
        return {}

    def demands(self, signature: Signature) -> Demands:
        """What is demanded of the calls with a signature."""
        demanded = self._demands.get(signature)
        if demanded is None:
            demanded = self._demands[signature] = Demands(signature, self)
        return demanded

    def condition(self, rule: Rule, demand: Expression) -> RuleCondition:
        """The rule under its active condition, with its results so far."""
        key = rule, demand.text  # functions have versions of their own, and a rule of each may demand the same
        rule_condition = self._conditions.get(key)
        if rule_condition is None:
            rule_condition = self._conditions[key] = RuleCondition(rule, demand)
        return rule_condition


class Listing:
    """The number of results of each rule with each verdict; those beyond `most` are counted and not listed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.numbers: Counter[tuple[str, Verdict]] = Counter()
        self.full = 0 if most else -1
        """How many rules have a verdict of which no further result is listed; -1 where no result is."""
        self._unread: set[SubjectResults] = set()
        self._keys: dict[SubjectResults, list[tuple[str, Verdict]]] = {}

    def takes(self, rule: Rule, verdict: Verdict) -> bool:
        """Count a result, and say whether the report lists it."""
        key = rule.slug, verdict
        number = self.numbers[key] = self.numbers[key] + 1
        self.full += number == self.most
        return number <= self.most

    def listed(self, results: SubjectResults) -> Sequence[bool]:
        """Which of the reported results are listed, () for none; counts those of which any may be."""
        if results in self._unread:
            return ()
        keys = self._keys.get(results)
        if keys is None:
            keys = self._keys[results] = [
                (rule_result.rule.slug, rule_result.verdict) for rule_result in results.reported
            ]
        flags, numbers, most = list[bool](), self.numbers, self.most
        for key in keys:  # as `takes`, which is too slow for thousands of findings
            number = numbers[key] = numbers[key] + 1
            self.full += number == most
            flags.append(number <= most)
        if True in flags:
            return flags
        self._unread.add(results)
        return ()

    def is_full(self, rule: Rule, verdict: Verdict) -> bool:
        """Whether no further result is listed, so that nobody reads its explanation."""
        return self.numbers[rule.slug, verdict] >= self.most


ALL, NONE = Listing(maxsize), Listing(0)
"""`ALL` lists every result, `NONE` lists none."""


class RuleMemory(dict[object, T]):
    """Results by what they follow from: `MOST_REMEMBERED`, so that memory stays small where all differ."""

    def __setitem__(self, key: object, result: T) -> None:
        if len(self) == MOST_REMEMBERED:
            self.clear()
        super().__setitem__(key, result)


class RuleCondition:
    """A rule under its active condition; facts that agree in all that it sees are evaluated once."""

    __slots__ = ("_alike", "_key", "_results", "demand", "parts", "rule")

    def __init__(self, rule: Rule, demand: Expression) -> None:
        self.rule, self.demand = rule, demand
        self.parts = tuple(
            view(tuple([expression for expression in (demand, rule.when, rule.onnx) if expression is not None])).items()
        )
        """What it sees of each name."""
        self._key = key_of_parts(self.parts)
        self._results = RuleMemory[RuleResult]()
        self._alike = dict[object, RuleResult]()  # results that nobody reads beyond verdict and cause

    def result(self, views: Views, listing: Listing = ALL) -> RuleResult:
        """The result of `evaluate_rule`; views with equal parts are evaluated once."""
        seen = self._key(views)
        key = seen, listing.full
        result = self._results.get(key)
        if result is None and listing.full < 0:  # an explanation that nobody reads does no harm
            result = self._results.get((seen, 0))
        if result is None:
            result = evaluate_rule(self.rule, self.demand, views.names, listing)
            if result.verdict is Verdict.PASS or listing.is_full(self.rule, result.verdict):
                result = self._alike.setdefault((result.verdict, result.breaks_onnx, result.cause), result)
            self._results[key] = result
        return result


class Demands:
    """What is demanded of the calls with a signature, and what is known of its outputs."""

    def __init__(self, signature: Signature, rules: ActiveRules) -> None:
        listed = list(demands(signature, rules.editions))
        self.rules = [(rule, None if demand is None else rules.condition(rule, demand)) for rule, demand in listed]
        """The rules in order, each under the text in force; None where it has no condition."""
        fields = {
            field
            for rule_condition in rules.conditions_about("group")
            for _, listed in rule_condition.parts
            for field in listed
        }
        values = {value.name for value in signature.values}
        tensors = [input_key(formal.name) if formal.name in values else formal.name for formal in signature.formals]
        presence = [(given_key(formal.name), ()) for formal in signature.formals]
        self.of_groups = key_of_parts((*((name, tuple(sorted(fields))) for name in tensors), *presence))
        """What the rules about groups see of a call."""
        self.groups = RuleMemory[list[RuleResult]]()
        """The results of these rules so far."""
        self.dense: list[RuleResult] | None = None
        """The results of the rules about operands where each is a dense tensor; they see nothing else of a call."""
        self._relying = dict[tuple[Rule, str], RuleResult]()

    def relying(self, rule: Rule, cause: str) -> RuleResult:
        """The result of a rule that cannot be evaluated because another one failed."""
        rule_result = self._relying.get((rule, cause))
        if rule_result is None:
            result = RuleResult(rule, Verdict.UNDECIDED, f"relies on {cause}", "", False, cause)
            rule_result = self._relying[rule, cause] = result
        return rule_result


class RuleResult(Struct, frozen=True, eq=False):
    """The result of one rule for one subject, equal to itself only; `names` are the formal names in `actual`."""

    rule: Rule
    verdict: Verdict
    actual: str = ""
    requires: str = ""
    breaks_onnx: bool = False
    cause: str = ""
    names: tuple[str, ...] = ()
    witness: str = ""
    """Of an assumption a value of the operand that satisfies it, "" where none was looked for."""


class SubjectResults(Struct, frozen=True, eq=False):
    """The results of all rules for equal subjects: passes and not applicable ones are `counted`, others `reported`."""

    counted: tuple[RuleResult, ...]
    reported: tuple[RuleResult, ...]


class KnownResults(dict[tuple[RuleResult, ...], SubjectResults]):
    """The different results of subjects, by the results of their rules."""

    def of(self, results: Sequence[RuleResult]) -> SubjectResults:
        """The results, divided; the same object for the same results."""
        key = tuple(results)
        divided = self.get(key)
        if divided is None:
            divided = self[key] = subject_results(results)
        return divided


MOST_REMEMBERED = 1024
"""Results that a `RuleMemory` keeps before it forgets them all."""
_COUNTED = (Verdict.PASS, Verdict.NOT_APPLICABLE)
_NAME = r"\b[A-Za-z_]\w*(?:\[\d+\])?"


def subject_results(results: Iterable[RuleResult]) -> SubjectResults:
    """The results, divided into those that are counted and those that are reported."""
    counted, reported = list[RuleResult](), list[RuleResult]()
    for result in results:
        (counted if result.verdict in _COUNTED else reported).append(result)
    return SubjectResults(tuple(counted), tuple(reported))


def evaluate_rule(
    rule: Rule,
    demand: Expression,
    names: Mapping[str, Any],
    listing: Listing = ALL,
) -> RuleResult:
    """The result of a rule whose active condition is `demand`, on facts by name; not explained if `listing` is full."""
    try:
        for condition in (rule.when, demand):
            value = True if condition is None else condition.evaluate(Evaluator(), names)
            if isinstance(value, Unknown):
                if condition is demand and _breaks_onnx(rule, names):  # what ONNX demands is less, and decided
                    return _failed(rule, demand, names, listing)
                return _unknown(rule, condition or demand, value, names, listing)
            if not value:
                return _failed(rule, demand, names, listing) if condition is demand else not_applying(rule)
        empty = demand.over is not None and demand.over_nothing(Evaluator(), names)
    except OutOfFuel as error:  # an explanation would run out of it as well
        return RuleResult(rule, Verdict.UNDECIDED, str(error), demand.text)
    return over_nothing(rule, demand) if empty else passing(rule)


def is_out_of_place(rule: Rule, names: Mapping[str, Any]) -> bool:
    """Whether the rule's `when` is false, whatever other rules say: a rule about another element type."""
    return rule.when is not None and evaluate(rule.when, names) is False


def passing(rule: Rule) -> RuleResult:
    """The result of a rule that holds."""
    return RuleResult(rule, Verdict.PASS)


def not_applying(rule: Rule) -> RuleResult:
    """The result of a rule whose `when` is false."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"applies only where {rule.when.text if rule.when else ''}")


def over_nothing(rule: Rule, demand: Expression) -> RuleResult:
    """The result of a rule that holds because the list of an outermost all(...) is empty."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"{demand.over[0] if demand.over else ''} is empty")


def _of_unknown(value: Unknown) -> Verdict:
    return Verdict.ASSUMED if value.cause is UnknownCause.RUN_TIME else Verdict.UNDECIDED


def _failed(rule: Rule, demand: Expression, names: Mapping[str, Any], listing: Listing) -> RuleResult:
    breaks_onnx = rule.kind == "validity" or _breaks_onnx(rule, names)
    failing = demand if evaluate(demand, names) is False or rule.onnx is None else rule.onnx
    actual = "" if listing.is_full(rule, Verdict.FAIL) else _said(rule, names) or explanation_of(failing, names)
    said = actual or f"{demand.text} does not hold"
    return RuleResult(rule, Verdict.FAIL, said, demand.text, breaks_onnx, "", _names_in(actual, names))


def _said(rule: Rule, names: Mapping[str, Any]) -> str:
    """What the data file of a rule says of a failure, "" where it leaves that to the condition."""
    if rule.says is None:
        return ""
    facts = names[rule.subject]
    fields = facts._asdict() if isinstance(facts, TensorFacts) else facts
    return rule.says.format_map({name: str(fact) for name, fact in fields.items()})


def _breaks_onnx(rule: Rule, names: Mapping[str, Any]) -> bool:
    """Whether the part of a rule that ONNX demands is false."""
    return rule.onnx is not None and evaluate(rule.onnx, names) is False


def _unknown(rule: Rule, demand: Expression, value: Unknown, names: Mapping[str, Any], listing: Listing) -> RuleResult:
    verdict = _of_unknown(value)
    shown = () if listing.is_full(rule, verdict) else _names_in(value.reason, names)
    return RuleResult(rule, verdict, value.reason, demand.text, False, value.because, shown)


def _names_in(actual: str, names: Mapping[str, Any]) -> tuple[str, ...]:
    if not actual:
        return ()
    words = dict.fromkeys(re.findall(_NAME, actual))
    return tuple(name for name in words if name.partition("[")[0] in names)
