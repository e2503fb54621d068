"""Structure classes of an operator, and calls in which they occur.

Every comparison in a rule is split into below, at and above; every fact that may be absent into present and absent;
types, ranks, extents and counts into their values.  The solver decides whether a conforming call of a class exists
within `BOUNDS`, and each call that it gives is counted for all classes that occur in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import z3

from sonnx.checker.verdicts import Verdict
from sonnx.language.domain import given_key
from sonnx.profile.definitions import Rule
from sonnx.proofs.derived import breaking, conforming
from sonnx.prover.call_variables import element
from sonnx.prover.signature_family import SignatureFamily, forget
from sonnx.prover.smt_values import Truth, bool_term, negate
from sonnx.prover.solvers import script
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.bounded import BitQuestions
from sonnx.suite.call_search import SATISFIABLE, CallSearch, PairDecisions
from sonnx.suite.classes import Literal, combined, extents_of, literals_of, numbers_of, with_read_elements
from sonnx.suite.decisions import (
    FOLDER,
    Decisions,
    FoundCall,
    GrownCall,
    Values,
    class_questions_hash,
    decisions_file,
    kept_decisions,
)
from sonnx.suite.sizes import SizedCall, sized_calls, unpadded_calls

MAX_EXTENT, WIDE_EXTENT, MAX_OUTPUT_EXTENT = 5, 16, 12
LEAST_ATTRIBUTE, LARGEST_ATTRIBUTE = -4, 24
BOUNDS = (
    f"extents of inputs at most {MAX_EXTENT} ({WIDE_EXTENT} where all outputs would be empty), of outputs at most "
    f"{MAX_OUTPUT_EXTENT}, "
    f"numbers in attributes and constants from {LEAST_ATTRIBUTE} to {LARGEST_ATTRIBUTE}"
)


@dataclass(frozen=True, slots=True)
class StructureClass:
    """A class of calls: its name, the rule whose comparison it splits ("" for none), and whether one conforms."""

    name: str
    rule: str
    answer: str


@dataclass(frozen=True, slots=True)
class Structure:
    """A call that the checker has judged, with the classes that occur in it.

    Attributes:
        call: the call.
        classes: the names of the classes.
        broken: the slug of the rule that it breaks, "" for a conforming call.
        invalid: it breaks a condition of ONNX, not of the profile alone.
        sized: the axis that grew, of a call with a large extent.
    """

    call: CallInstance
    classes: tuple[str, ...]
    broken: str = ""
    invalid: bool = False
    sized: SizedCall | None = None


@dataclass(frozen=True, slots=True)
class Structures:
    """The classes of one version of an operator in one edition, and calls that cover those that are satisfiable."""

    family: SignatureFamily
    classes: tuple[StructureClass, ...]
    positive: tuple[Structure, ...]
    negative: tuple[Structure, ...]
    unbroken: tuple[tuple[str, str], ...]
    """The rules that no call of the suite breaks alone, each with the reason."""
    sized: tuple[SizedCall, ...]
    """Calls with larger extents."""
    unpadded: tuple[CallInstance, ...]
    """Those of the positive calls whose windows lie within the input, for an operator that pads."""
    pairs: PairAnswers | None = None
    """What the solver said about pairs of classes; None where it was not asked."""


@dataclass(frozen=True, slots=True)
class PairAnswers:
    """Pairs of satisfiable classes: how many occur together in a call, how many cannot, and those not decided."""

    covered: int
    unsatisfiable: int
    unknown: tuple[tuple[str, str], ...]
    not_asked: int
    """The pairs for which no steps of the solver were left."""


def structures(
    family: SignatureFamily,
    pairs: bool = False,
    folder: Path | None = FOLDER,
    progress: Callable[[str], None] = lambda _: None,
) -> Structures:
    """The classes and calls of one signature; equal signatures give equal ones.

    Args:
        family: the signature.
        pairs: cover all pairs of classes, too; these are not kept.
        folder: has files of what the solver is known to say; None to ask it.
        progress: called with what is done, where pairs take long.
    """
    family = _afresh(family)
    with family.context():
        literals = [*literals_of(family)]
        if folder is not None and not pairs:
            kept = kept_decisions(decisions_file(family, folder), _questions(family, literals))
            with suppress(_OtherVerdict):
                if kept is not None:
                    return _structures(family, literals, kept)
        decisions, of_pairs = _decided(family, literals, pairs, progress)
        built = _structures(family, literals, decisions)
    if of_pairs is None:
        return built
    possible = [number for number, answer in enumerate(decisions.answers) if answer == SATISFIABLE]
    occurring = [found.classes for found in decisions.conforming]
    return replace(built, pairs=_pair_answers(built.classes, possible, occurring, of_pairs))


def decide(family: SignatureFamily) -> tuple[str, Decisions]:
    """The hash of the questions about a signature, and what the solver says."""
    family = _afresh(family)
    with family.context():
        literals = [*literals_of(family)]
        return _questions(family, literals), _decided(family, literals, pairs=False)[0]


def questions_of(family: SignatureFamily) -> str:
    """The hash of the questions about a signature."""
    family = _afresh(family)
    with family.context():
        return _questions(family, [*literals_of(family)])


def _afresh(family: SignatureFamily) -> SignatureFamily:
    """The signature, interpreted with folding as for the first time: which texts its rules have told decides which
    classes it has.
    """
    forget()
    return replace(family, folded=True)


def _questions(family: SignatureFamily, literals: Sequence[Literal]) -> str:
    return class_questions_hash(family, literals, [*_bounds(family, WIDE_EXTENT), *_filled(family)])


class _OtherVerdict(Exception):
    """The checker says something else about a call than when it was found."""


def _decided(
    family: SignatureFamily,
    literals: Sequence[Literal],
    pairs: bool,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Decisions, PairDecisions | None]:
    """What the solver says; with `pairs` about pairs of classes, too."""
    questions = BitQuestions()
    most = _largest_extent(family, questions)
    conditions, preferred = [*conforming(family), *_bounds(family, most)], _filled(family)
    search = CallSearch(conditions, literals, preferred, questions)
    agreed = search.agree()
    absent = any(
        CallSearch([*conditions, term], [], [], questions).any()
        for name, term in _optional_outputs(family).items()
        if not agreed.get(name)
    )
    present = [*_optional_outputs(family).values()] if absent else []
    listing = _not_empty(family, agreed)
    if present or listing:
        search = CallSearch(conditions, literals, [*present, *listing, *preferred], questions)
    answers, models = search.cover([*((index,) for index in range(len(literals))), *combined(literals)])
    possible = sorted(number for number, answer in answers.items() if answer == SATISFIABLE)
    of_pairs = search.cover_pairs(possible, models, progress) if pairs else None
    conforming_calls: list[FoundCall] = []
    bases: dict[int, tuple[Values, CallInstance]] = {}
    for values, members in models:
        with suppress(_OtherVerdict):
            call = _conforming(family, values)
            conforming_calls.append(FoundCall(_without_zeros(values), tuple(members)))
            # Models that differ in what no call shows, such as extents of axes that are not there, give equal calls.
            if call not in [known for _, known in bases.values()]:
                bases[len(bases)] = values, call
    breaking_calls = {
        rule.slug: _breaking_calls(family, rule, literals, most, questions)
        for rule in family.rules
        if not family.implied_by(rule)
    }
    sized = sized_calls(family, [*bases.values()])
    decisions = Decisions(
        answers=tuple(answers[number] for number in range(len(literals))),
        conforming=tuple(conforming_calls), breaking=breaking_calls,
        grown=tuple(GrownCall(_without_zeros(each.values), each.input, each.axis, each.extent) for each in sized),
        unpadded=tuple(_without_zeros(each.values) for each in unpadded_calls(family, [*bases.values()])),
    )  # fmt: skip
    return decisions, of_pairs


def _without_zeros(values: Values) -> Values:
    """The values but zeros, as a variable without a value is 0."""
    return {name: number for name, number in values.items() if number}


def _structures(family: SignatureFamily, literals: Sequence[Literal], decisions: Decisions) -> Structures:
    """The classes and calls of a signature, by what the solver says.

    Raises:
        _OtherVerdict: the checker does not say of each call what it said when it was found.
    """
    positive: list[Structure] = []
    negative: list[Structure] = []
    for found in decisions.conforming:
        call, names = _conforming(family, found.values), [literals[number].name for number in found.classes]
        known = next((place for place, structure in enumerate(positive) if structure.call == call), None)
        if known is None:
            positive.append(Structure(call, tuple(names)))
        else:
            both = dict.fromkeys((*positive[known].classes, *names))
            positive[known] = replace(positive[known], classes=tuple(both))
    unbroken = []
    for rule in family.rules:
        implied, before = family.implied_by(rule), len(negative)
        own = [literal for literal in literals if literal.rule == rule.slug]
        for found in decisions.breaking.get(rule.slug, ()):
            call = _breaking(family, rule, found.values)
            if call not in [structure.call for structure in negative]:
                names = [own[member].name for member in found.classes if member < len(own)]
                negative.append(Structure(call, tuple(names), rule.slug, len(own) in found.classes))
        if implied:
            unbroken.append((rule.slug, f"follows from {', '.join(implied)}"))
        elif len(negative) == before:
            unbroken.append((rule.slug, f"no call within the bounds ({BOUNDS}) breaks it alone"))
    sized = tuple(
        SizedCall(_conforming(family, each.values), each.values, each.input, each.axis, each.extent)
        for each in decisions.grown
    )
    unpadded = tuple(_conforming(family, values) for values in decisions.unpadded)
    positive += [Structure(call, ()) for call in unpadded]
    classes = tuple(
        StructureClass(literal.name, literal.rule, answer)
        for literal, answer in zip(literals, decisions.answers, strict=True)
    )
    return Structures(family, classes, tuple(positive), tuple(negative), tuple(unbroken), sized, unpadded)


def _conforming(family: SignatureFamily, values: Values) -> CallInstance:
    """A call that the checker passes.

    Raises:
        _OtherVerdict: it does not.
    """
    call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
    if report.verdict not in (Verdict.PASS, Verdict.ASSUMED):
        raise _OtherVerdict
    return call


def _breaking(family: SignatureFamily, rule: Rule, values: Values) -> CallInstance:
    """A call in which the checker finds that a rule is broken.

    Raises:
        _OtherVerdict: it does not.
    """
    call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
    if not any(finding.rule == rule.slug and finding.verdict is Verdict.FAIL for finding in report.findings):
        raise _OtherVerdict
    return call


def conforming_call(
    family: SignatureFamily, wanted: Sequence[z3.BoolRef], liked: Sequence[z3.BoolRef]
) -> CallInstance | None:
    """A conforming call within the bounds that satisfies conditions, and further ones as far as it can be.

    Args:
        family: the signature; its context is entered.
        wanted: what holds of the call.
        liked: what is preferred, the most important first.

    Returns: the call; None where there is none, or the solver or the checker does not decide it.
    """
    filled = _filled(family)
    search = CallSearch(
        [*conforming(family), *_bounds(family, WIDE_EXTENT), *wanted],
        [],
        [*filled[:1], *liked, *filled[1:]],
        BitQuestions(),
    )
    values = search.preferred_model()
    if values is None:
        return None
    with suppress(_OtherVerdict):
        return _conforming(family, values)
    return None


def problem(family: SignatureFamily) -> str:
    """The conditions and classes of a signature as the solver gets them: equal texts have equal answers."""
    family = _afresh(family)
    with family.context():
        return script(
            [
                *conforming(family),
                *_bounds(family, _largest_extent(family, BitQuestions())),
                *(literal.term for literal in literals_of(family)),
            ]
        )


def _pair_answers(
    classes: Sequence[StructureClass],
    possible: Sequence[int],
    occurring: Sequence[Sequence[int]],
    decisions: PairDecisions,
) -> PairAnswers:
    """Counts of the pairs of possible classes; a pair that was asked, and neither cannot occur nor does, is unknown."""
    impossible, not_asked = decisions.impossible, decisions.not_asked
    occurs = np.zeros(impossible.shape, np.bool_)
    for members in occurring:
        occurs[np.ix_(members, members)] = True
    wanted = np.zeros(impossible.shape, np.bool_)
    wanted[np.ix_(possible, possible)] = True
    wanted = np.triu(wanted, 1)
    open_ = wanted & ~occurs & ~impossible
    unknown = [(classes[one].name, classes[other].name) for one, other in np.argwhere(open_ & ~not_asked)]
    return PairAnswers(
        int((wanted & occurs).sum()), int((wanted & impossible).sum()), tuple(unknown), int((open_ & not_asked).sum())
    )


def _breaking_calls(
    family: SignatureFamily, rule: Rule, literals: Sequence[Literal], most: int, questions: BitQuestions
) -> tuple[FoundCall, ...]:
    """Calls that break one rule alone, one for each class of its comparisons."""
    condition = family.condition(rule)
    onnx = family.onnx(rule)
    demanded: Truth = True if onnx is None else family.variables.condition(rule, onnx).holds
    forbidden = Literal("ONNX forbids it", rule.slug, bool_term(negate(demanded)))
    own = [literal for literal in literals if literal.rule == rule.slug]
    broken_alone = [*breaking(family, rule), bool_term(condition.fails), *family.readable(rule), *_bounds(family, most)]
    search = CallSearch(broken_alone, [*own, forbidden], _filled(family), questions)
    calls: list[FoundCall] = []
    for values, members in search.cover((index,) for index in range(len(own) + 1))[1] or search.any():
        with suppress(_OtherVerdict):
            _breaking(family, rule, values)
            calls.append(FoundCall(_without_zeros(values), tuple(members)))
    return tuple(calls)


def _largest_extent(family: SignatureFamily, questions: BitQuestions) -> int:
    """The largest extent of an input: a wide one where no conforming call has outputs with elements otherwise."""
    outputs = {output.name for output in family.signature.outputs}
    filled = []
    for name, tensor in family.variables.tensors.items():
        if tensor.formal in outputs:
            used = [
                z3.Implies(z3.Int(f"{name}.rank") > axis, e >= 1) for axis, e in enumerate(extents_of(family, name))
            ]
            filled.append(z3.And(bool_term(tensor.present), *used))
    some = z3.Or(*filled) if filled else z3.BoolVal(True)
    search = CallSearch([*conforming(family), *_bounds(family, MAX_EXTENT), some], [], [], questions)
    return MAX_EXTENT if search.any() else WIDE_EXTENT


def _bounds(family: SignatureFamily, largest: int) -> Iterator[z3.BoolRef]:
    """The bounds of a call, see `BOUNDS`; `largest` is the largest extent of an input."""
    outputs = {output.name for output in family.signature.outputs}
    for name, tensor in family.variables.tensors.items():
        most = MAX_OUTPUT_EXTENT if tensor.formal in outputs else largest
        for axis, extent in enumerate(extents_of(family, name)):
            yield extent <= most
            # An axis that is not there has no class.
            yield z3.Implies(z3.Int(f"{name}.rank") <= axis, extent == 0)
    for parameter in family.signature.parameters:
        for number in numbers_of(family, parameter.name, parameter.kind):
            yield z3.And(number >= LEAST_ATTRIBUTE, number <= LARGEST_ATTRIBUTE)


def _not_empty(family: SignatureFamily, values: Mapping[str, int]) -> list[z3.BoolRef]:
    """That the lists of numbers that these values leave empty are not: an output with an axis of one element for each
    number, such as that of Unsqueeze, has several elements on each axis only with an empty list.
    """
    names = [each.name for each in (*family.signature.attributes, *family.signature.values) if each.kind == "ints"]
    return [z3.Int(f"{name}.length") >= 1 for name in names if values.get(f"{name}.length") == 0]


def _optional_outputs(family: SignatureFamily) -> dict[str, z3.BoolRef]:
    """That each optional output is there, by the name of this fact: an output that is not there is not compared."""
    names = [given_key(output.name) for output in family.signature.outputs if output.optional]
    terms = {name: family.variables.names[name] for name in names}
    return {name: term for name, term in terms.items() if z3.is_expr(term)}


def _filled(family: SignatureFamily) -> list[z3.BoolRef]:
    """The preferred conditions, the most important first: tensors with several elements, tensors with any element,
    positive numbers in lists; negative numbers of attributes and elements of constants above 1: with 0 or 1 a
    result might not depend on them or on another input.
    """
    several, some, telling = [], [], []
    listed = {value.name for value in family.signature.values}
    for name, tensor in family.variables.tensors.items():
        if tensor.formal in listed:  # as long as its list
            continue
        rank = z3.Int(f"{name}.rank")
        extents = [(rank > axis, extent) for axis, extent in enumerate(extents_of(family, name))]
        several.append(z3.And(rank >= 1, *[z3.Implies(used, extent >= 2) for used, extent in extents]))
        some.append(z3.And(*[z3.Implies(used, extent >= 1) for used, extent in extents]))
    for parameter in (*family.signature.attributes, *family.signature.values):
        if parameter.kind == "ints":
            length, numbers = z3.Int(f"{parameter.name}.length"), numbers_of(family, parameter.name, parameter.kind)
            some.append(
                z3.And(length >= 1, *[z3.Implies(length > place, number >= 1) for place, number in enumerate(numbers)])
            )
        if parameter.kind == "float":
            telling += [number < 0 for number in numbers_of(family, parameter.name, parameter.kind)]
    for name in with_read_elements(family):
        telling += [element(name).term >= 2, element(name).term >= 1]
    return [*several, *some, *telling]
