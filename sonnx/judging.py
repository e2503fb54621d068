"""One rule of the language on one set of facts: its verdict, and for a failure what is wrong.

Outcomes hold no names of the model, so that equal facts are judged once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sonnx.blame import why
from sonnx.domain import Expression
from sonnx.facts import Cause, Facts, OutOfFuel, Unknown
from sonnx.profile import Rule
from sonnx.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What one rule says about one subject; `letters` are the names of the rule that `actual` mentions."""

    rule: Rule
    verdict: Verdict
    actual: str = ""
    requires: str = ""
    breaks_onnx: bool = False
    cause: str = ""
    letters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """All answers for equal subjects: `quiet` ones are only counted."""

    quiet: tuple[Answer, ...]
    loud: tuple[Answer, ...]


QUIET = (Verdict.PASS, Verdict.NOT_APPLICABLE)
_LETTER = re.compile(r"\b[A-Za-z_]\w*(?:\[\d+\])?")
_TOO_LARGE = Unknown(Cause.NOT_STATED, "the lists are too long to be judged")


def outcome(answers: Iterable[Answer]) -> Outcome:
    """Answers, sorted into those that are counted and those that are reported."""
    listed = list(answers)
    return Outcome(
        tuple(answer for answer in listed if answer.verdict in QUIET),
        tuple(answer for answer in listed if answer.verdict not in QUIET),
    )


def judge(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> Answer:
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
        return over_nothing(rule, demand) if demand.over_nothing(Facts(), names) else passing(rule)
    return _failed(rule, demand, names)


def passing(rule: Rule) -> Answer:
    """The answer of a rule that holds."""
    return Answer(rule, Verdict.PASS)


def not_applying(rule: Rule) -> Answer:
    """The answer of a rule whose `when` is false."""
    return Answer(rule, Verdict.NOT_APPLICABLE, f"applies only where {rule.when.text if rule.when else ''}")


def over_nothing(rule: Rule, demand: Expression) -> Answer:
    """The answer of a rule about all of nothing."""
    return Answer(rule, Verdict.NOT_APPLICABLE, f"{demand.over[0] if demand.over else ''} is empty")


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
        return expression.evaluate(Facts(), names)
    except OutOfFuel:
        return _TOO_LARGE


def _failed(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> Answer:
    onnx = demand if rule.kind == "validity" else rule.onnx
    breaks_onnx = onnx is not None and _value(onnx, names) is False
    actual = why(demand, names) or f"{demand.text} does not hold"
    return Answer(rule, Verdict.FAIL, actual, demand.text, breaks_onnx, "", _letters(actual, names))


def _unknown(rule: Rule, demand: Expression, value: Unknown, names: Mapping[str, Any]) -> Answer:
    actual = why(demand, names) or value.reason
    return Answer(rule, _of_unknown(value), actual, demand.text, False, value.because, _letters(actual, names))


def _letters(actual: str, names: Mapping[str, Any]) -> tuple[str, ...]:
    found = dict.fromkeys(_LETTER.findall(actual))
    return tuple(letter for letter in found if letter.partition("[")[0] in names)


def relying(rule: Rule, cause: str) -> Answer:
    """The answer of a rule that cannot be asked because another one failed."""
    return Answer(rule, Verdict.UNDECIDED, f"relies on {cause}", "", False, cause)
