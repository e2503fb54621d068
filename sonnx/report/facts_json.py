"""The facts of a model's calls as JSON, for a checker that does not read models (`sonnx check --facts FILE`).

A number, text, truth value or list is that of JSON. Everything else is an object with one of these keys:

    {"float": [n, d]}                              the rational number n / d
    {"record": {...}}                              a record, such as a tensor, by field
    {"unknown": "run time", "symbol": "N"}         a fact that is not known, with its cause
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from msgspec import Struct

from sonnx.base.reported import OptionalText, Result
from sonnx.checker.checked_calls import CheckedCall
from sonnx.checker.verdicts import Verdict
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause
from sonnx.language.steps import is_shortage

MOST_VALUES = 4096
"""Items of the longest list that is written: the extracted checker has numbers of single bits."""
CAUSES = {
    UnknownCause.RUN_TIME: "run time",
    UnknownCause.NOT_STATED: "not stated",
    UnknownCause.UNDEFINED: "undefined",
}


class CallFacts(Struct, frozen=True):
    """The facts of a call, and what the check says of it."""

    operator: str
    """The operator, of the domain of ONNX."""
    version: int
    """Its version."""
    left_out: OptionalText
    """Why the facts are not written; null where they are."""
    facts: Mapping[str, Any] | None
    """The facts by the names that the rules use; null where they are left out."""
    verdicts: Mapping[str, Verdict]
    """The verdict of each rule of the operator by its slug, in the order of evaluation."""


class FactsDocument(Result, frozen=True, kw_only=True):
    """Facts: what the rules of operators read of the calls of a model, as `sonnx check --facts FILE` writes it."""

    model: str
    """The file as the command line names it."""
    sha256: str
    """The SHA-256 of the model file."""
    edition: str
    """The edition whose rules were evaluated."""
    calls: tuple[CallFacts, ...]
    """The different calls in the order of the check."""


class _NotWrittenError(Exception):
    """A fact has no form here; the message is the reason."""


def call_facts(call: CheckedCall) -> CallFacts:
    """The facts of a call."""
    verdicts = {result.rule.slug: result.verdict for result in call.results}
    facts, reason = None, ""
    if any(is_shortage(result.actual) for result in call.results):
        reason = "a rule takes too long"
    else:
        try:
            defined = call.signature.define  # the rules have these definitions themselves
            facts = {name: fact(value) for name, value in call.names.items() if name not in defined}
        except _NotWrittenError as error:
            reason = str(error)
    return CallFacts(call.signature.operator, call.signature.version, reason, facts, verdicts)


def fact(value: Any) -> Any:
    """A fact as JSON has it.

    Raises:
        _NotWrittenError: a number that is not finite, or a long list.
    """
    match value:
        case bool() | int() | str():
            return value
        case Fraction() | float():
            if isinstance(value, float) and not isfinite(value):
                raise _NotWrittenError("a number is not finite")
            exact = Fraction(value)
            return {"float": [exact.numerator, exact.denominator]}
        case Unknown():
            return {"unknown": CAUSES[value.cause], "symbol": value.symbol}
        case TensorFacts():
            return fact(value._asdict())
        case tuple():
            if len(value) > MOST_VALUES:
                raise _NotWrittenError(f"a list has more than {MOST_VALUES} items")
            return [fact(item) for item in value]
        case Mapping():
            return {"record": {name: fact(part) for name, part in value.items()}}
    if hasattr(value, "read"):
        return fact(value.read())
    raise TypeError(f"a fact of type {type(value).__name__}")
