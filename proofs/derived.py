"""Theorems about the rules of every operator, derived from its file.

*satisfiable*: some call conforms.  *independent*: each rule can be broken alone.  *defined*: the rules a rule relies on
suffice for it to have a value.  *shape-total*: the output has a shape without a negative extent.  *restricts*: what the
profile demands implies what ONNX demands.  *implied*: a rule that says what it follows from does.
Versions and editions whose texts are equal share a theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

import z3
from sonnx.proofs.family import Family, families
from sonnx.proofs.setting import Bounds
from sonnx.proofs.theorem import Counterexample, Mutant, Obligation, Theorem, Unconfirmed
from sonnx.proofs.truths import both, formula, implies
from sonnx.proofs.witness import breaks, complete, conforms, dependents
from sonnx.proofs.z3_values import Listing, at_most

from sonnx.catalogue import operators
from sonnx.profile import Operator, Rule

ABOUT_TYPES = ("explicit-type", "element-type", "no-implicit-conversion")
"""The general rules about element types."""
ALONE = "A model was found and judged by the checker; nothing is left for a second solver."


def theorems() -> Iterator[Theorem]:
    """The theorems about all operators of the catalogue."""
    for described in operators():
        yield from about(described)


def about(described: Operator) -> Iterator[Theorem]:
    """The theorems about one operator."""
    for family in families(described, Family.everything):
        yield _satisfiable(family)
    for key, types in ((Family.but_types, False), (Family.types, True)):
        for family in families(described, key):
            for rule in family.rules:
                if not rule.implied_by and family.about_types(rule) is types:
                    yield _independent(family, rule)
    for family in families(described, Family.conditions):
        yield _defined(family)
        for rule in family.rules:
            if rule.implied_by:
                yield _implied(family, rule)
    for family in families(described, Family.shapes):
        if family.made.shapes:
            yield _shape_total(family)
    for family in families(described, Family.against_onnx):
        yield _restricts(family)


# Satisfiable, independent


def _satisfiable(family: Family) -> Theorem:
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


def _independent(family: Family, rule: Rule) -> Theorem:
    """A rule that does not speak of element types is asked without them: one theorem for many lists of types."""
    types = family.about_types(rule)

    def obligations() -> Iterable[Obligation]:
        others = breaking(family, rule, None if types else False)
        yield Obligation(rule.slug, (*others, formula(family.condition(rule).defined)), formula(family.holds(rule)))

    def replay(values: Counterexample) -> str:
        said = [_replayed(each, rule, types, values) for each in family.each()]
        return f"{said[0]}; and so in {len(said)} versions and editions" if len(said) > 1 else said[0]

    return Theorem(
        id=f"derived.{family.label}.independent.{rule.name}",
        statement=f"{rule.slug} follows from the other rules of {family.title}.",
        formula=f"⋀ other rules ⇒ {family.text(rule)}",
        obligations=obligations,
        sources=family.sources,
        expected="refuted",
        bounds=str(family.bounds),
        reason_single=ALONE,
        replay=replay,
        because="It is false: in each of these versions and editions the counterexample, completed where the rule asks "
        "nothing, is a model for which the checker reports this rule and no other.",
    )


def _replayed(family: Family, rule: Rule, types: bool, values: Counterexample) -> str:
    """The counterexample in one version and edition, completed by what the rule does not ask."""
    asked = {name: value for name, value in values.items() if name.endswith(".type") is types}
    fixed = [_equals(name, value) for name, value in asked.items()]
    own = next(each for each in family.rules if each.name == rule.name)
    conditions = (*breaking(family, own), formula(family.condition(own).fails))
    completed = complete(family.setting, conditions, fixed)
    if completed is None:
        raise Unconfirmed(f"the counterexample of {rule.slug} cannot be completed to a call of {family.title}")
    return breaks(family.made, own, family.setting.reading.codes, completed, family.edition)


def _equals(name: str, value: int) -> z3.BoolRef:
    if name.startswith(("given(", "written(")):
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


def breaking(family: Family, rule: Rule, types: bool | None = None) -> Iterator[z3.BoolRef]:
    """What a call fulfils beside one rule; what relies on the rule is not asked.  For `types` see `conforming`."""
    return conforming(family, dependents(family.made, rule.name) | {rule.name}, types)


# Defined, total, restricting, implied


def _defined(family: Family) -> Theorem:
    def obligations(relies: bool = True) -> Iterable[Obligation]:
        for rule in family.rules:
            condition = family.condition(rule)
            name = rule.slug if condition.defined is not True else f"{rule.slug} (by its form)"
            relied = relying(family, rule.relies) if relies else ()
            yield Obligation(name, (*family.facts, *relied), formula(condition.defined))

    return Theorem(
        id=f"derived.{family.label}.defined",
        statement=f"Every rule of {family.title} has a value wherever the rules it relies on hold.",
        formula="⋀ relies(r) ⇒ defined(r), for each rule r",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=_without_relies(family, lambda: obligations(relies=False), any(rule.relies for rule in family.rules)),
        because="Else the checker could leave a rule undecided although nothing else fails.",
    )


def _shape_total(family: Family) -> Theorem:
    def obligations(family: Family = family, relies: bool = True) -> Iterable[Obligation]:
        setting = family.setting
        for output in family.made.outputs:
            if output.name not in family.made.shapes:
                continue
            relied = (*family.facts, *(relying(family, output.relies) if relies else ()))
            defined, shape = setting.reading.read(family.made.shapes[output.name], setting.names)
            yield Obligation(f"{output.name} has a shape", relied, formula(defined))
            yield Obligation(f"no extent of {output.name} is negative", (*relied, formula(defined)), _extents(shape))

    def negative() -> Iterable[Obligation]:
        return obligations(replace(family, bounds=Bounds(extent=-1)))

    relied = any(output.relies for output in family.made.outputs)
    return Theorem(
        id=f"derived.{family.label}.shape-total",
        statement=f"Every output of {family.title} has a shape, and no negative extent, where its rules hold.",
        formula="⋀ relies(Y) ⇒ defined(Y.shape) ∧ ∀i: Y.shape[i] ≥ 0",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=(
            *_without_relies(family, lambda: obligations(relies=False), relied),
            Mutant("inputs may have negative extents", negative),
        ),
        because="The check of an output's shape, allocation and the executor use this one expression.",
    )


def _extents(shape: object) -> z3.BoolRef:
    items = shape.items if isinstance(shape, Listing) else ()
    return formula(both([implies(present, at_most(0, extent)) for present, extent in items]))


def _restricts(family: Family) -> Theorem:
    def obligations(demanding: bool = True) -> Iterable[Obligation]:
        setting = family.setting
        for rule in family.rules:
            onnx = family.onnx(rule)
            if onnx is None:
                continue
            if onnx.text == family.text(rule):
                yield Obligation(f"{rule.slug} (the same condition)", (), formula(True))
                continue
            own = (formula(family.holds(rule)),) if demanding else ()
            condition = setting.condition(rule, onnx)
            yield Obligation(rule.slug, (*family.facts, *relying(family, rule.relies), *own), formula(condition.holds))

    narrowed = any((onnx := family.onnx(rule)) is not None and onnx.text != family.text(rule) for rule in family.rules)
    return Theorem(
        id=f"derived.{family.label}.restricts",
        statement=f"A call of {family.title} that the profile accepts fulfils the conditions of ONNX.",
        formula="⋀ rules of the profile ⇒ ⋀ conditions of ONNX",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=_without_relies(family, lambda: obligations(demanding=False), narrowed, "the profile demands nothing"),
        because="The profile restricts ONNX and never extends it; equal conditions need no proof and say so.",
    )


def _implied(family: Family, rule: Rule) -> Theorem:
    def obligations(given: bool = True) -> Iterable[Obligation]:
        names = (*rule.relies, *(rule.implied_by if given else ()))
        yield Obligation(rule.slug, (*family.facts, *relying(family, names)), formula(family.holds(rule)))

    return Theorem(
        id=f"derived.{family.label}.implied.{rule.name}",
        statement=f"{rule.slug} follows from {', '.join(rule.implied_by)}.",
        formula=f"{' ∧ '.join(rule.implied_by)} ⇒ {family.text(rule)}",
        obligations=obligations,
        sources=family.sources,
        bounds=str(family.bounds),
        mutants=_without_relies(family, lambda: obligations(given=False), True, "nothing else demanded"),
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


def _without_relies(
    family: Family, obligations: Callable[[], Iterable[Obligation]], there: bool, name: str = "nothing is relied on"
) -> tuple[Mutant, ...]:
    return (Mutant(name, obligations),) if there else ()
