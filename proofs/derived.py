"""Theorems about the rules of every operator, derived from its data file.

*satisfiable*: some call conforms.  *independent*: some call breaks a rule alone.  *defined*: a rule has a value if the
rules it relies on hold.  *shape-total*: an output has a shape without a negative extent.  *restricts*: the demands of
the profile imply those of ONNX.  *implied*: a rule follows from the rules its data file names.
Versions and editions with equal expressions share a theorem (`signature_family`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

import z3

from sonnx.language.parser import parse
from sonnx.language.structure import view
from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import OperatorDefinition, Rule
from sonnx.proofs.coq_questions import any_size_in_coq
from sonnx.prover import any_size, bound_reasons
from sonnx.prover.signature_family import SignatureFamily, families
from sonnx.prover.smt_interpretation import SmtCondition
from sonnx.prover.smt_values import (
    PartialValue,
    SymbolicList,
    Truth,
    UndefinedValue,
    Value,
    all_of,
    at_most,
    bool_term,
    implies,
)
from sonnx.prover.solvers import find_model, script
from sonnx.prover.terms import without_products
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, by_form
from sonnx.prover.witness import confirm_broken, confirm_conforming, dependents


def theorems() -> Iterator[Theorem]:
    """The theorems about all operators of the catalogue."""
    for described in operators():
        yield from about(described)


def _about_run_time(rule: Rule) -> bool:
    """Whether a rule is about parameters that are known at run time only, which no call of the theorems has."""
    return rule.when is not None and any(name.startswith("constant(") for name in view((rule.when,)))


def about(described: OperatorDefinition) -> Iterator[Theorem]:
    """The theorems about one operator."""
    for family in families(described, SignatureFamily.conformance):
        yield satisfiable(family)
    for key, types in ((SignatureFamily.conformance_without_types, False), (SignatureFamily.type_conformance, True)):
        for family in families(described, key):
            for rule in family.rules:
                own = not family.implied_by(rule) and not _about_run_time(rule)
                if own and family.about_types(rule) is types:
                    yield independent(family, rule)
    for family in families(described, SignatureFamily.definedness):
        yield _defined(family)
        for rule in family.rules:
            if family.implied_by(rule):
                yield _implied(family, rule)
    for family in families(described, SignatureFamily.output_shapes):
        if family.signature.shapes:
            yield _shape_total(family)
    for family in families(described, SignatureFamily.onnx_demands):
        yield _restricts(family)


# Defined, total, restricting, implied


def _defined(family: SignatureFamily) -> Theorem:
    why = any_size.defined(family) or any_size_in_coq(f"derived.{family.label}.defined")

    def obligations(beyond: bool = False) -> Iterable[Obligation]:
        for rule in family.rules:
            condition = _beyond(family, rule) if beyond else family.condition(rule)
            yield _obligation(rule.slug, (*family.facts, *relying(family, rule.relies)), condition.defined)

    return Theorem(
        id=f"derived.{family.label}.defined",
        statement=_bounded(
            f"Every rule of {family.title} has a value wherever the rules it relies on hold", family, why
        ),
        formula="⋀ relies(r) ⇒ defined(r), for each rule r",
        obligations=obligations,
        sources=family.sources,
        bounds="" if why else family.stated_bounds,
        bound_reason="" if why else bound_reasons.defined(family),
        any_size=why,
        mutants=(Mutant("every rule reads an axis after the last", lambda: obligations(beyond=True)),),
        because="Otherwise the checker could leave a rule undecided although no other rule fails.",
    )


def _beyond(family: SignatureFamily, rule: Rule) -> SmtCondition:
    """The rule with an access to an axis that does not exist."""
    output = family.signature.outputs[0].name
    text = f"({family.text(rule)}) and {output}.shape[{output}.rank] >= 0"
    return family.variables.condition(rule, parse(text))


def _shape_total(family: SignatureFamily) -> Theorem:
    why = any_size.shape_total(family) or any_size_in_coq(f"derived.{family.label}.shape-total")

    def obligations(change: str = "") -> Iterable[Obligation]:
        variables = family.variables
        for output in family.signature.outputs:
            if output.name not in family.signature.shapes:
                continue
            relied = (*family.facts, *relying(family, output.relies))
            text = family.signature.shapes[output.name]
            expression = parse(change.format(text.text)) if change else text
            defined, shape = variables.shape(expression)
            yield _obligation(f"{output.name} has a shape", relied, defined)
            extents = [
                _obligation(f"extent {place} of {output.name} is not negative", relied, implies(there, _extent(extent)))
                for place, (there, extent) in enumerate(shape.items if isinstance(shape, SymbolicList) else ())
            ]
            yield from extents if change else without_products(extents)

    return Theorem(
        id=f"derived.{family.label}.shape-total",
        statement=_bounded(f"Every output of {family.title} has a shape, and no negative extent", family, why),
        formula="⋀ relies(Y) ⇒ defined(Y.shape) ∧ ∀i: Y.shape[i] ≥ 0",
        obligations=obligations,
        sources=family.sources,
        bounds="" if why else family.stated_bounds,
        bound_reason="" if why else bound_reasons.shape_total(family),
        any_size=why,
        mutants=(
            Mutant("one axis more, of no extent", lambda: obligations("({}) + [1 // 0]")),
            Mutant("every extent with the other sign", lambda: obligations("[-extent for extent in ({})]")),
        ),
        because="The check of an output's shape, allocation and the executor use this one expression.",
    )


def _extent(item: Value) -> Truth:
    """An extent is defined and not negative."""
    if isinstance(item, UndefinedValue):
        return False
    if isinstance(item, PartialValue):
        return all_of([item.defined, at_most(0, item.value)])
    return at_most(0, item)


def _restricts(family: SignatureFamily) -> Theorem:
    why = any_size.restricts(family) or any_size_in_coq(f"derived.{family.label}.restricts")

    def obligations(demanding: bool = True) -> Iterable[Obligation]:
        variables = family.variables
        for rule in family.rules:
            onnx = family.onnx(rule)
            if onnx is None:
                continue
            if demanding and onnx.text == family.text(rule):
                yield Obligation(rule.slug, (), bool_term(True), "both texts state the same condition")
                continue
            own = (bool_term(family.holds(rule)),) if demanding else ()
            condition = variables.condition(rule, onnx)
            relied = relying(family, rule.relies) if demanding else ()
            yield _obligation(rule.slug, (*family.facts, *relied, *own), condition.holds)

    return Theorem(
        id=f"derived.{family.label}.restricts",
        statement=_bounded(f"A call of {family.title} that the profile accepts fulfils those of ONNX", family, why),
        formula="⋀ rules of the profile ⇒ ⋀ conditions of ONNX",
        obligations=obligations,
        sources=family.sources,
        bounds="" if why else family.stated_bounds,
        bound_reason="" if why else bound_reasons.restricts(family),
        any_size=why,
        mutants=(Mutant("the profile demands nothing", lambda: obligations(demanding=False)),),
        because="The profile restricts ONNX and never extends it; equal conditions are marked and need no proof.",
    )


def _implied(family: SignatureFamily, rule: Rule) -> Theorem:
    names = family.implied_by(rule)
    each = EACH_TENSOR if family.about_each_tensor((rule.name, *names)) else ""
    why = each or any_size_in_coq(identifier(family, "implied", rule))
    follows = f"{rule.slug} follows from {', '.join(names)} in {family.title}"

    def obligations(given: bool = True) -> Iterable[Obligation]:
        own = relying(family, (*rule.relies, *names)) if given else ()
        general = tuple(bool_term(truth) for slug, truth in family.general if given and slug in names)
        yield _obligation(rule.slug, (*family.facts, *own, *general), family.holds(rule))

    return Theorem(
        id=identifier(family, "implied", rule),
        statement=_bounded(follows, family, why),
        formula=f"{' ∧ '.join(names)} ⇒ {family.text(rule)}",
        obligations=obligations,
        sources=family.sources,
        bounds="" if why else family.stated_bounds,
        bound_reason="" if why else bound_reasons.implied(family, rule),
        any_size=why,
        mutants=(Mutant("nothing else is demanded", lambda: obligations(given=False)),),
        because="The data file contains the rule because a text states it; no model breaks it alone.",
    )


def relying(family: SignatureFamily, names: Iterable[str]) -> tuple[z3.BoolRef, ...]:
    """The rules of these names hold, and those they rely on."""
    waiting, followed = list(names), dict[str, Rule]()
    by_name = {rule.name: rule for rule in family.rules}
    while waiting:
        rule = by_name.get(waiting.pop())
        if rule is not None and rule.name not in followed:
            followed[rule.name] = rule
            waiting += rule.relies
    return tuple(bool_term(family.holds(rule)) for rule in followed.values())


EACH_TENSOR = (
    "Each rule demands something of the element type of every tensor, alone or together with the first tensor of its "
    "group. Of values that fulfil the hypotheses and not the goal, the first tensor and the one that fails are such "
    "values too: two repeated inputs are enough."
)
FOUND = "What is found among calls of bounded size is found among all calls."


def _bounded(statement: str, family: SignatureFamily, any_size: str) -> str:
    """The statement, of calls of any size with a reason, else of those that the obligations are about."""
    return f"{statement}." if any_size else f"{statement}, in calls of {family.stated_bounds}."


def _obligation(name: str, hypotheses: tuple[z3.BoolRef, ...], goal: Truth) -> Obligation:
    """An obligation, which is computed if the goal is constant or a hypothesis."""
    return by_form(Obligation(name, () if goal is True else hypotheses, bool_term(goal)))


# Satisfiable, independent: calls that the checker judges

ABOUT_TYPES = ("explicit-type", "element-type", "no-implicit-conversion")
"""The general rules about element types."""
REASON_SINGLE = "A model was found and judged by the checker; nothing is left for a second solver."


def satisfiable(family: SignatureFamily) -> Theorem:
    """Some call conforms."""
    family = replace(family, folded=True)

    def obligations() -> Iterable[Obligation]:
        with family.context():
            return [Obligation("no call conforms", tuple(conforming(family)), bool_term(False))]

    def replay(values: Counterexample) -> str:
        return confirm_conforming(family.signature, family.variables.interpretation.codes, values, family.edition)

    return Theorem(
        id=f"derived.{family.label}.satisfiable",
        statement=f"Some call meets all rules of {family.title}.",
        formula="∃ call: ⋀ rules",
        obligations=obligations,
        sources=family.sources,
        expected="found",
        any_size=FOUND,
        reason_single=REASON_SINGLE,
        replay=replay,
        because="Rules that contradict each other would refuse every model; the checker finds nothing in this call.",
    )


def independent(family: SignatureFamily, rule: Rule) -> Theorem:
    """The rule can be broken alone; one not about element types is broken without regard to them."""
    family, types = replace(family, folded=True), family.about_types(rule)

    def obligations() -> Iterable[Obligation]:
        with family.context():
            return [_not_alone(family, rule, types, *way) for way in _ways(family, rule)]

    def replay(values: Counterexample) -> str:
        with family.context():
            replayed = [*_replayed(family, rule, types, values)]
        return f"{replayed[0]}; and so in {len(replayed)} versions and editions" if len(replayed) > 1 else replayed[0]

    return Theorem(
        id=identifier(family, "independent", rule),
        statement=f"Some call breaks {rule.slug} and no other rule of {family.title}.",
        formula=f"∃ call: ⋀ other rules ∧ ¬ ({family.text(rule)})",
        obligations=obligations,
        sources=family.sources,
        expected="found",
        any_size=FOUND,
        reason_single=REASON_SINGLE,
        replay=replay,
        because="A rule that follows from the others demands nothing; in each of these versions and editions the call, "
        "completed by facts that the rule does not read, is a model for which the checker reports only this rule and "
        "those that follow from it.",
    )


def _not_alone(family: SignatureFamily, rule: Rule, types: bool, name: str, skipped: frozenset[str]) -> Obligation:
    """Where the other rules hold, and what the rule reads is known, it holds too."""
    conditions = breaking(family, rule, None if types else False, skipped)
    read = (*conditions, *family.readable(rule), bool_term(family.condition(rule).defined))
    return Obligation(name, read, bool_term(family.holds(rule)))


def _ways(family: SignatureFamily, rule: Rule) -> Iterator[tuple[str, frozenset[str]]]:
    """Break a rule alone, or together with the rules that follow from it and others; each with the names of these."""
    yield rule.slug, frozenset()
    following = family.following(rule)
    if following:
        yield f"{rule.slug} with {', '.join(sorted(following))}", following


def _replayed(family: SignatureFamily, rule: Rule, types: bool, values: Counterexample) -> Iterator[str]:
    """The counterexample in each version and edition; where it does not conform there, completed by other values.

    Where the same calls conform, the same call is judged.
    """
    asked = {name: value for name, value in values.items() if name.endswith(".type") is types}
    alike: dict[Hashable, list[SignatureFamily]] = {}
    for each in family.each():
        alike.setdefault(each.conformance(), []).append(each)
    for members in alike.values():
        try:
            yield from list(_confirmed(members, rule, family, values, frozenset()))
        except ReplayFailed:
            yield from _confirmed(members, rule, members[0], *_completed(members[0], rule, asked))


def _confirmed(
    members: Sequence[SignatureFamily],
    rule: Rule,
    read: SignatureFamily,
    values: Counterexample,
    skipped: frozenset[str],
) -> Iterator[str]:
    """What a check of the call says in each version and edition; `read` has the codes of its strings."""
    codes = read.variables.interpretation.codes
    for member in members:
        yield confirm_broken(member.signature, _own(member, rule), codes, values, member.edition, skipped)


def _completed(family: SignatureFamily, rule: Rule, asked: Counterexample) -> tuple[Counterexample, frozenset[str]]:
    """Values of all facts of a call that breaks the rule, and the rules that it may break besides."""
    own = _own(family, rule)
    for _, skipped in _ways(family, own):
        conditions = (
            *breaking(family, own, None, skipped),
            *family.readable(own),
            bool_term(family.condition(own).fails),
        )
        completed = find_model(script([*conditions, *(_equals(family, name, value) for name, value in asked.items())]))
        if completed is not None:
            return completed, skipped
    raise ReplayFailed(f"the counterexample of {rule.slug} cannot be completed to a call of {family.title}")


def _own(family: SignatureFamily, rule: Rule) -> Rule:
    """The rule as this version and edition has it."""
    return next(each for each in family.rules if each.name == rule.name)


def _equals(family: SignatureFamily, name: str, value: int) -> z3.BoolRef:
    if name.endswith(")"):  # given(X), written(axis), constant(W)
        return z3.Bool(name) == z3.BoolVal(bool(value))
    fractions = {fraction.decl().name() for fraction in family.variables.fractions}
    return (z3.Real if name in fractions else z3.Int)(name) == value


def conforming(
    family: SignatureFamily, skipped: Collection[str] = (), types: bool | None = None
) -> Iterator[z3.BoolRef]:
    """The conditions on a conforming call; `types` selects those about element types (True) or the others (False).

    Its attributes are whole numbers: each is a value of type float.
    """
    yield from family.facts
    yield from (z3.IsInt(number) for number in family.variables.fractions)
    for slug, truth in family.general:
        if types is None or types is (slug in ABOUT_TYPES):
            yield bool_term(truth)
    for rule in family.rules:
        if rule.name not in skipped and types in (None, family.about_types(rule)):
            yield bool_term(family.holds(rule))


def breaking(
    family: SignatureFamily, rule: Rule, types: bool | None = None, skipped: frozenset[str] = frozenset()
) -> Iterator[z3.BoolRef]:
    """The same for a call that breaks one rule: without it, those skipped, and the rules that rely on them."""
    broken = {rule.name} | skipped
    dependent = {each for name in broken for each in dependents(family.signature, name)}
    return conforming(family, broken | dependent, types)


def identifier(family: SignatureFamily, kind: str, rule: Rule) -> str:
    """The identifier of a theorem about one rule."""
    return f"derived.{family.label}.{kind}.{rule.name.replace('_', '-')}"
