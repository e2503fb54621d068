"""Theorems about the rules of every operator, derived from its file.

*satisfiable*: some call conforms.  *independent*: each rule can be broken alone.  *defined*: the rules a rule relies on
suffice for it to have a value.  *shape-total*: the output has a shape without a negative extent.  *restricts*: what the
profile demands implies what ONNX demands.  *implied*: a rule that says what it follows from does.
Versions and editions whose texts are equal share a theorem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import z3

from sonnx.language.parser import parse
from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import Operator, Rule
from sonnx.proofs.independent import identifier, independent, satisfiable
from sonnx.prover.abstraction import without_division
from sonnx.prover.encoding import Condition
from sonnx.prover.family import Family, families
from sonnx.prover.smt_truth import Truth, both, formula, implies
from sonnx.prover.smt_values import Listing, Partial, at_most
from sonnx.prover.theorem import Mutant, Obligation, Theorem


def theorems() -> Iterator[Theorem]:
    """The theorems about all operators of the catalogue."""
    for described in operators():
        yield from about(described)


def about(described: Operator) -> Iterator[Theorem]:
    """The theorems about one operator."""
    for family in families(described, Family.everything):
        yield satisfiable(family)
    for key, types in ((Family.but_types, False), (Family.types, True)):
        for family in families(described, key):
            for rule in family.rules:
                if not family.implied_by(rule) and family.about_types(rule) is types:
                    yield independent(family, rule)
    for family in families(described, Family.conditions):
        yield _defined(family)
        for rule in family.rules:
            if family.implied_by(rule):
                yield _implied(family, rule)
    for family in families(described, Family.shapes):
        if family.made.shapes:
            yield _shape_total(family)
    for family in families(described, Family.against_onnx):
        yield _restricts(family)


# Defined, total, restricting, implied


def _defined(family: Family) -> Theorem:
    def obligations(beyond: bool = False) -> Iterable[Obligation]:
        for rule in family.rules:
            condition = _beyond(family, rule) if beyond else family.condition(rule)
            name = rule.slug if condition.defined is not True else f"{rule.slug} (by its form)"
            yield _obligation(name, (*family.facts, *relying(family, rule.relies)), condition.defined)

    return Theorem(
        id=f"derived.{family.label}.defined",
        statement=f"Every rule of {family.title} has a value wherever the rules it relies on hold.",
        formula="⋀ relies(r) ⇒ defined(r), for each rule r",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=(Mutant("every rule reads an axis after the last", lambda: obligations(beyond=True)),),
        because="Else the checker could leave a rule undecided although nothing else fails.",
    )


def _beyond(family: Family, rule: Rule) -> Condition:
    """The rule, and a demand of an axis that does not exist."""
    output = family.made.outputs[0].name
    text = f"({family.text(rule)}) and {output}.shape[{output}.rank] >= 0"
    return family.setting.condition(rule, parse(text))


def _shape_total(family: Family) -> Theorem:
    def obligations(one_more: str = "") -> Iterable[Obligation]:
        setting = family.setting
        for output in family.made.outputs:
            if output.name not in family.made.shapes:
                continue
            relied = (*family.facts, *relying(family, output.relies))
            text = family.made.shapes[output.name]
            changed = parse(f"({text.text}) + [{one_more}]") if one_more else text
            defined, shape = setting.reading.read(changed, setting.names)
            yield _obligation(f"{output.name} has a shape", relied, defined)
            for place, (present, extent) in enumerate(shape.items if isinstance(shape, Listing) else ()):
                name = f"extent {place} of {output.name} is not negative"
                goal = _obligation(name, relied, implies(present, _extent(extent)))
                yield goal if one_more else without_division(goal)

    return Theorem(
        id=f"derived.{family.label}.shape-total",
        statement=f"Every output of {family.title} has a shape, and no negative extent, where its rules hold.",
        formula="⋀ relies(Y) ⇒ defined(Y.shape) ∧ ∀i: Y.shape[i] ≥ 0",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=(
            Mutant("one axis more, of a negative extent", lambda: obligations("-1")),
            Mutant("one axis more, of no extent", lambda: obligations("1 // 0")),
        ),
        because="The check of an output's shape, allocation and the executor use this one expression.",
    )


def _extent(item: object) -> Truth:
    """An extent is defined and not negative."""
    if isinstance(item, Partial):
        return both([item.defined, at_most(0, item.value)])
    return at_most(0, item)


def _restricts(family: Family) -> Theorem:
    def obligations(demanding: bool = True) -> Iterable[Obligation]:
        setting = family.setting
        for rule in family.rules:
            onnx = family.onnx(rule)
            if onnx is None:
                continue
            if demanding and onnx.text == family.text(rule):
                yield Obligation(f"{rule.slug} (the same condition)", (), formula(True))
                continue
            own = (formula(family.holds(rule)),) if demanding else ()
            condition = setting.condition(rule, onnx)
            relied = relying(family, rule.relies) if demanding else ()
            yield _obligation(rule.slug, (*family.facts, *relied, *own), condition.holds)

    return Theorem(
        id=f"derived.{family.label}.restricts",
        statement=f"A call of {family.title} that the profile accepts fulfils the conditions of ONNX.",
        formula="⋀ rules of the profile ⇒ ⋀ conditions of ONNX",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=(Mutant("the profile demands nothing", lambda: obligations(demanding=False)),),
        because="The profile restricts ONNX and never extends it; equal conditions need no proof and say so.",
    )


def _implied(family: Family, rule: Rule) -> Theorem:
    names = family.implied_by(rule)

    def obligations(given: bool = True) -> Iterable[Obligation]:
        own = relying(family, (*rule.relies, *names)) if given else ()
        general = tuple(formula(truth) for slug, truth in family.general if given and slug in names)
        yield Obligation(rule.slug, (*family.facts, *own, *general), formula(family.holds(rule)))

    return Theorem(
        id=identifier(family, "implied", rule),
        statement=f"{rule.slug} follows from {', '.join(names)} in {family.title}.",
        formula=f"{' ∧ '.join(names)} ⇒ {family.text(rule)}",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=(Mutant("nothing else is demanded", lambda: obligations(given=False)),),
        because="The rule stands in its file because a text states it; no file breaks it alone.",
    )


def relying(family: Family, names: Iterable[str]) -> tuple[z3.BoolRef, ...]:
    """The rules of these names hold, and those they rely on."""
    waiting, found = list(names), dict[str, Rule]()
    known = {rule.name: rule for rule in family.rules}
    while waiting:
        rule = known.get(waiting.pop())
        if rule is not None and rule.name not in found:
            found[rule.name] = rule
            waiting += rule.relies
    return tuple(formula(family.holds(rule)) for rule in found.values())


def _obligation(name: str, hypotheses: tuple[z3.BoolRef, ...], goal: Truth) -> Obligation:
    """A goal that is true by its form needs no hypotheses."""
    return Obligation(name, () if goal is True else hypotheses, formula(goal))
