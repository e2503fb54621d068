"""Some call conforms, and each rule can be broken alone: theorems that are refuted, by a model the checker judges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import z3

from sonnx.profile.definitions import Rule
from sonnx.prover.family import Family
from sonnx.prover.smt_truth import formula
from sonnx.prover.solvers import find, script
from sonnx.prover.theorem import Counterexample, Obligation, Theorem, Unconfirmed
from sonnx.prover.witness import breaks, conforms, dependents

ABOUT_TYPES = ("explicit-type", "element-type", "no-implicit-conversion")
"""The general rules about element types."""
ALONE = "A model was found and judged by the checker; nothing is left for a second solver."


def satisfiable(family: Family) -> Theorem:
    """Some call conforms."""

    def obligations() -> Iterable[Obligation]:
        yield Obligation("no call conforms", tuple(conforming(family)), formula(False))

    def replay(values: Counterexample) -> str:
        return conforms(family.made, family.setting.reading.codes, values, family.edition)

    return Theorem(
        id=f"derived.{family.label}.satisfiable",
        statement=f"The rules of {family.title} contradict each other.",
        formula="⋀ rules ⇒ ⊥",
        obligations=obligations,
        sources=family.sources,
        expected="refuted",
        bounds=str(family.bounds),
        reason_single=ALONE,
        replay=replay,
        because="It is false: the counterexample is a call that conforms, and the checker finds nothing in it.",
    )


def independent(family: Family, rule: Rule) -> Theorem:
    """A rule that does not speak of element types is asked without them: one theorem for many lists of types."""
    types = family.about_types(rule)

    def obligations() -> Iterable[Obligation]:
        part = None if types else False
        for name, skipped in _ways(family, rule):
            others = breaking(family, rule, part, skipped)
            read = (*others, *family.readable(rule), formula(family.condition(rule).defined))
            yield Obligation(name, read, formula(family.holds(rule)))

    def replay(values: Counterexample) -> str:
        said = [_replayed(each, rule, types, values) for each in family.each()]
        return f"{said[0]}; and so in {len(said)} versions and editions" if len(said) > 1 else said[0]

    return Theorem(
        id=identifier(family, "independent", rule),
        statement=f"{rule.slug} follows from the other rules of {family.title}.",
        formula=f"⋀ other rules ⇒ {family.text(rule)}",
        obligations=obligations,
        sources=family.sources,
        expected="refuted",
        bounds=str(family.bounds),
        reason_single=ALONE,
        replay=replay,
        because="It is false: in each of these versions and editions the counterexample, completed where the rule asks "
        "nothing, is a model for which the checker reports this rule and no other but those said to follow from it.",
    )


def _ways(family: Family, rule: Rule) -> Iterator[tuple[str, frozenset[str]]]:
    """To break a rule alone, and where rules follow from it and others, with them; each with the rules given up."""
    yield rule.slug, frozenset()
    following = family.following(rule)
    if following:
        yield f"{rule.slug} with {', '.join(sorted(following))}", following


def _replayed(family: Family, rule: Rule, types: bool, values: Counterexample) -> str:
    """The counterexample in one version and edition, completed by what the rule does not ask."""
    asked = {name: value for name, value in values.items() if name.endswith(".type") is types}
    fixed = [_equals(name, value) for name, value in asked.items()]
    own = next(each for each in family.rules if each.name == rule.name)
    for _, skipped in _ways(family, own):
        others = (*breaking(family, own, None, skipped), *family.readable(own))
        completed = find(script([*others, formula(family.condition(own).fails), *fixed]))
        if completed is not None:
            return breaks(family.made, own, family.setting.reading.codes, completed, family.edition, skipped)
    raise Unconfirmed(f"the counterexample of {rule.slug} cannot be completed to a call of {family.title}")


def _equals(name: str, value: int) -> z3.BoolRef:
    if name.endswith(")"):  # given(X), written(axis), constant(W)
        return z3.Bool(name) == z3.BoolVal(bool(value))
    return z3.Int(name) == value


def conforming(family: Family, skipped: Collection[str] = (), types: bool | None = None) -> Iterator[z3.BoolRef]:
    """What a conforming call fulfils; with `types` only what speaks of element types, or only what does not."""
    yield from family.facts
    for rule, truth in family.general:
        if types is None or types is (rule in ABOUT_TYPES):
            yield formula(truth)
    for rule in family.rules:
        if rule.name not in skipped and types in (None, family.about_types(rule)):
            yield formula(family.holds(rule))


def breaking(
    family: Family, rule: Rule, types: bool | None = None, skipped: frozenset[str] = frozenset()
) -> Iterator[z3.BoolRef]:
    """What a call fulfils beside one rule, those skipped, and what relies on them.  For `types` see `conforming`."""
    given_up = {rule.name} | skipped
    relying = {each for name in given_up for each in dependents(family.made, name)}
    return conforming(family, given_up | relying, types)


def identifier(family: Family, kind: str, rule: Rule) -> str:
    """The identifier of a theorem about one rule."""
    return f"derived.{family.label}.{kind}.{rule.name.replace('_', '-')}"
