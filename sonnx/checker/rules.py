"""The part of the catalogue that one check applies: an edition with its rules by subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring
import re
from collections.abc import Mapping
from typing import Any

from sonnx.checker import graph_rules
from sonnx.checker.graph_rules import Defect
from sonnx.checker.report import Verdict
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Cause, Evaluator, OutOfFuel, Unknown
from sonnx.language.explainer import explain
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Editions, Rule
from sonnx.profile.signature import demanded


@dataclass(frozen=True)
class ActiveRules:
    """An edition, whether only specified versions of operators are admitted, and what a project demands besides."""

    edition: Edition
    strict: bool = False
    tailoring: Tailoring | None = None

    @cached_property
    def editions(self) -> Editions:
        """The texts and editions around this one."""
        return catalogue.editions()

    @cached_property
    def general(self) -> tuple[tuple[Rule, Expression], ...]:
        """The rules in force that are a text, each with its condition under this edition."""
        rules = ((rule, self._demand(rule)) for rule in catalogue.general_rules())
        own = self.tailoring.conditions if self.tailoring else ()
        return (*((rule, demand) for rule, demand in rules if demand is not None), *own)

    def _demand(self, rule: Rule) -> Expression | None:
        return demanded(rule, self.edition.general, self.editions)

    @cached_property
    def graph(self) -> tuple[Rule, ...]:
        """The rules in force that a function decides."""
        own = [rule for rule, _ in self.tailoring.decided] if self.tailoring else []
        known = catalogue.graph_rules()
        return (*(rule for rule in known if self.editions.in_force(rule, self.edition.general)), *own)

    @cached_property
    def slugs(self) -> frozenset[str]:
        """The rules in force that are of no operator."""
        return frozenset({rule.slug for rule, _ in self.general} | {rule.slug for rule in self.graph})

    def about(self, subject: str) -> tuple[tuple[Rule, Expression], ...]:
        """The general rules in force about a subject."""
        return tuple((rule, demand) for rule, demand in self.general if rule.subject == subject)

    def deciding(self, subject: str) -> tuple[Rule, ...]:
        """The graph rules in force about a subject."""
        return tuple(rule for rule in self.graph if rule.subject == subject)

    def decide(self, rule: Rule) -> Callable[..., Iterable[Defect]]:
        """The function that decides a rule that is no text."""
        own = dict(self.tailoring.decided).get(rule) if self.tailoring else None
        return own or graph_rules.decide(rule)


# ------------------------------------------------------------------
# One rule of the language on one set of facts: its verdict, and for a failure what is wrong.
#
# Outcomes hold no names of the model, so that equal facts are judged once.


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule says about one subject; `letters` are the names of the rule that `actual` mentions."""

    rule: Rule
    verdict: Verdict
    actual: str = ""
    requires: str = ""
    breaks_onnx: bool = False
    cause: str = ""
    letters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RuleResults:
    """All answers for equal subjects: `quiet` ones are only counted."""

    quiet: tuple[RuleResult, ...]
    loud: tuple[RuleResult, ...]


QUIET = (Verdict.PASS, Verdict.NOT_APPLICABLE)
_LETTER = re.compile(r"\b[A-Za-z_]\w*(?:\[\d+\])?")
_TOO_LARGE = Unknown(Cause.NOT_STATED, "the lists are too long to be judged")


def outcome(answers: Iterable[RuleResult]) -> RuleResults:
    """Answers, sorted into those that are counted and those that are reported."""
    listed = list(answers)
    return RuleResults(
        tuple(answer for answer in listed if answer.verdict in QUIET),
        tuple(answer for answer in listed if answer.verdict not in QUIET),
    )


def evaluate_rule(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> RuleResult:
    """The answer of a rule whose condition in force is `demand`."""
    if rule.when is not None:
        applies = _value(rule.when, names)
        if applies is False:
            return not_applying(rule)
        if isinstance(applies, Unknown):
            return _unknown(rule, rule.when, applies, names)
    value = _value(demand, names)
    if isinstance(value, Unknown):
        return _unknown(rule, demand, value, names)
    if value:
        return over_nothing(rule, demand) if demand.over_nothing(Evaluator(), names) else passing(rule)
    return _failed(rule, demand, names)


def is_out_of_place(rule: Rule, names: Mapping[str, Any]) -> bool:
    """Whether the rule's `when` is false, whatever other rules say: a rule about another element type."""
    return rule.when is not None and _value(rule.when, names) is False


def passing(rule: Rule) -> RuleResult:
    """The answer of a rule that holds."""
    return RuleResult(rule, Verdict.PASS)


def not_applying(rule: Rule) -> RuleResult:
    """The answer of a rule whose `when` is false."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"applies only where {rule.when.text if rule.when else ''}")


def over_nothing(rule: Rule, demand: Expression) -> RuleResult:
    """The answer of a rule about all of nothing."""
    return RuleResult(rule, Verdict.NOT_APPLICABLE, f"{demand.over[0] if demand.over else ''} is empty")


def verdict_of(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> Verdict:
    """The verdict of `judge` without its words, which take most of its time; all over nothing passes here."""
    for asked, no in ((rule.when, Verdict.NOT_APPLICABLE), (demand, Verdict.FAIL)):
        value = True if asked is None else _value(asked, names)
        if isinstance(value, Unknown):
            return _of_unknown(value)
        if not value:
            return no
    return Verdict.PASS


def _of_unknown(value: Unknown) -> Verdict:
    return Verdict.ASSUMED if value.cause is Cause.RUN_TIME else Verdict.UNDECIDED


def _value(expression: Expression, names: Mapping[str, Any]) -> Any:
    try:
        return expression.evaluate(Evaluator(), names)
    except OutOfFuel:
        return _TOO_LARGE


def _failed(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> RuleResult:
    onnx = demand if rule.kind == "validity" else rule.onnx
    breaks_onnx = onnx is not None and _value(onnx, names) is False
    actual = explain(demand, names) or f"{demand.text} does not hold"
    return RuleResult(rule, Verdict.FAIL, actual, demand.text, breaks_onnx, "", _letters(actual, names))


def _unknown(rule: Rule, demand: Expression, value: Unknown, names: Mapping[str, Any]) -> RuleResult:
    actual = explain(demand, names) or value.reason
    return RuleResult(rule, _of_unknown(value), actual, demand.text, False, value.because, _letters(actual, names))


def _letters(actual: str, names: Mapping[str, Any]) -> tuple[str, ...]:
    found = dict.fromkeys(_LETTER.findall(actual))
    return tuple(letter for letter in found if letter.partition("[")[0] in names)


def relying(rule: Rule, cause: str) -> RuleResult:
    """The answer of a rule that cannot be asked because another one failed."""
    return RuleResult(rule, Verdict.UNDECIDED, f"relies on {cause}", "", False, cause)
