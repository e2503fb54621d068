"""The profile in Coq: every condition of every operator, version and edition, as terms of `proofs/coq/syntax.v`.

With them stand the questions that `proofs/coq/theorems.v` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from sonnx.language.coq import term, text
from sonnx.language.domain import Expression
from sonnx.language.parser import parse
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition, signature
from sonnx.proofs import coq_questions

RULES = "rules.v"
HEAD = """\
(* The rules of the profile, written by `sonnx export coq`: to change them, change the profile. *)
From Coq Require Import ZArith QArith String List.
From Sonnx Require Import syntax.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope.

"""


def files(name: str | None = None) -> dict[str, str]:
    """The files of the export by name; with `name` the rules of that edition only, and no questions about them.

    Raises:
        UsageError: an unknown edition.
    """
    editions = sorted(catalogue.editions().editions) if name is None else [catalogue.edition_named(name).name]
    different: dict[str, str] = {}
    numbers = count(1)
    rules_of_calls: dict[str, list[str]] = {}
    for edition in editions:
        for candidate in signatures(edition):
            rules_of_calls[f"{edition} {candidate.operator} {candidate.version}"] = [
                different.setdefault(rule, f"rule_{next(numbers)}") if rule not in different else different[rule]
                for rule in rules(candidate)
            ]
    definitions = "".join(f"Definition {name} := {word}.\n" for word, name in different.items())
    entries = ";\n".join(f"  ({text(key)}, [{'; '.join(names)}])" for key, names in rules_of_calls.items())
    text_of_rules = f"{HEAD}{definitions}\nDefinition catalogue : list (string * list rule) := [\n{entries}\n].\n"
    return {RULES: text_of_rules} | ({coq_questions.QUESTIONS: coq_questions.file()} if name is None else {})


def signatures(edition: str) -> Iterator[Signature]:
    """The operators that an edition has rules for, in every version."""
    for described in catalogue.operators():
        for version in described.versions:
            candidate = signature(described.name, version, edition)
            if candidate is not None:
                yield candidate


def rules(called: Signature) -> Iterator[str]:
    """The rules about the calls with a signature, in order."""
    for rule in called.rules:
        demand = active_condition(rule, called.text, catalogue.editions())
        if demand is not None:
            yield _rule(called, rule, demand)


def _rule(called: Signature, rule: Rule, demand: Expression) -> str:
    applies = "None" if rule.when is None else f"(Some {term(rule.when, called.define)})"
    over = "None" if demand.over is None else f"(Some {term(parse(demand.over[0]), called.define)})"
    slugs, relies = {candidate.name: candidate.slug for candidate in called.rules}, "nil"
    for rely in reversed(rule.relies):
        if rely in slugs:
            relies = f"(cons {text(slugs[rely])} {relies})"
    return f"(Build_rule {text(rule.slug)} {relies} {applies} {term(demand, called.define)} {over})"
