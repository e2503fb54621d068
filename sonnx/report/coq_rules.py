"""The rules of a signature as terms of `proofs/coq/syntax.v`."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.language.coq import term, text
from sonnx.language.domain import Expression
from sonnx.language.parser import parse
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition, signature


def edition_signatures(edition: str) -> Iterator[Signature]:
    """The operators that an edition has rules for, in every version."""
    for described in catalogue.operators():
        for version in described.versions:
            candidate = signature(described.name, version, edition)
            if candidate is not None:
                yield candidate


def rule_terms(called: Signature) -> Iterator[str]:
    """The rules about the calls with a signature, in order."""
    for rule in called.rules:
        demand = active_condition(rule, called.text, catalogue.editions())
        if demand is not None:
            yield rule_term(called, rule, demand)


def rule_term(called: Signature, rule: Rule, demand: Expression) -> str:
    """A rule of an operator under its active condition."""
    applies = "None" if rule.when is None else f"(Some {term(rule.when, called.define)})"
    over = "None" if demand.over is None else f"(Some {term(parse(demand.over[0]), called.define)})"
    slugs, relies = {candidate.name: candidate.slug for candidate in called.rules}, "nil"
    for rely in reversed(rule.relies):
        if rely in slugs:
            relies = f"(cons {text(slugs[rely])} {relies})"
    return f"(Build_rule {text(rule.slug)} {relies} {applies} {term(demand, called.define)} {over})"
