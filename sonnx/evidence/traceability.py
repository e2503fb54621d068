"""Traceability: from a label of a text to its rule, from there to the code, the cases and the theorems, and back.

A theorem derived from an operator file names its operator and mostly its rule; `sonnx.prover.dependencies` knows the
rules that other theorems are about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sonnx.checker.graph_rules import decision_of
from sonnx.profile import catalogue
from sonnx.profile.cases import cases_by_rule
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.prover.dependencies import bears_on, defined

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem


@dataclass(frozen=True, slots=True)
class Trace:
    """One rule with the code that decides it, its cases and its theorems."""

    rule: Rule
    code: tuple[str, ...]
    """The built-in functions that its condition uses, or the function that decides it."""
    conforming: tuple[str, ...]
    violating: tuple[str, ...]
    theorems: tuple[str, ...]


def traces(theorems: Iterable[Theorem] = (), rules: Mapping[str, Rule] | None = None) -> Mapping[str, Trace]:
    """Every rule (or those given) by slug, with its code, its cases, and those of the theorems that concern it."""
    rules = rules_by_slug() if rules is None else rules
    concerning: dict[str, list[str]] = {slug: [] for slug in rules}
    for theorem in theorems:
        for slug in concerned(theorem, rules):
            concerning[slug].append(theorem.id)
    conforming, violating = (
        {slug: tuple(case.id for case in rule_cases) for slug, rule_cases in cases_by_rule(*outcomes).items()}
        for outcomes in (("conforms",), ("invalid", "violates"))
    )
    return {
        slug: Trace(rule, code(rule), conforming.get(slug, ()), violating.get(slug, ()), tuple(concerning[slug]))
        for slug, rule in rules.items()
    }


def code(rule: Rule) -> tuple[str, ...]:
    """What decides a rule, as a path below `sonnx`: built-in functions of the rule language, or a function.

    For a rule about files of a project it is the module that states it, after the first part of its slug.
    """
    if rule.require is None and rule.kind == "project":
        return (rule.slug.partition(".")[0].replace("deviation", "deviations"),)
    if rule.require is None:
        function = decision_of(rule)
        return (f"{function.__module__.removeprefix('sonnx.')}.{function.__name__}",)
    expressions = [expression for expression in (rule.require, rule.onnx, rule.when) if expression is not None]
    described = catalogue.operator(rule.slug.partition(".")[0]) if "." in rule.slug else None
    used = dict.fromkeys(
        name
        for expression in (defined(described, expressions) if described else expressions)
        for name in expression.built_ins
    )
    return tuple(f"language.builtins.{name}" for name in used)


def concerned(theorem: Theorem, rules: Mapping[str, Rule]) -> list[str]:
    """The slugs of the rules a theorem is about."""
    topic, _, rest = theorem.id.partition(".")
    if topic == "derived":
        label, _, claim = rest.partition(".")
        operator, name = label.partition("-")[0], claim.partition(".")[2]
        return [slug for slug in _written(tuple(rules)).get(f"{operator}.{name}".replace("_", "-"), ()) if name]
    return [slug for slug in bears_on(theorem) if slug in rules]


@lru_cache(maxsize=2)
def _written(slugs: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Slugs by how identifiers of theorems write them."""
    by_written_form: dict[str, list[str]] = {}
    for slug in slugs:
        by_written_form.setdefault(slug.replace("_", "-"), []).append(slug)
    return by_written_form


def of_operator(theorem: Theorem) -> str:
    """The operator from whose file a theorem is derived, or ""."""
    return operator_in_identifier(theorem.id)


def operator_in_identifier(identifier: str) -> str:
    """As `of_operator`, by the identifier of the theorem."""
    topic, _, rest = identifier.partition(".")
    return rest.partition("-")[0] if topic == "derived" else ""
