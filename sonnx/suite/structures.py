"""Structure classes of an operator, and calls in which they occur.

Every comparison in a rule is split into below, at and above; every fact that may be absent into present and absent;
types, ranks, extents and counts into their values.  The solver decides whether a conforming call of a class exists
within `BOUNDS`, and each call that it gives is counted for all classes that occur in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import z3

from sonnx.checker.verdicts import Verdict
from sonnx.language.domain import given_key
from sonnx.numerics.formats import Array
from sonnx.profile.definitions import Rule
from sonnx.proofs.derived import breaking, conforming
from sonnx.prover.call_variables import element
from sonnx.prover.counterexample import value_of
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.smt_values import Truth, bool_term, negate
from sonnx.prover.solvers import script
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.bounded import BitQuestions, Unbounded, divides, signed
from sonnx.suite.classes import Literal, combined, extents_of, literals_of, numbers_of, with_read_elements
from sonnx.suite.sizes import SizedCall, sized_calls, unpadded_calls

MAX_EXTENT, WIDE_EXTENT, MAX_OUTPUT_EXTENT = 5, 16, 12
LEAST_ATTRIBUTE, LARGEST_ATTRIBUTE = -4, 24
BOUNDS = (
    f"extents of inputs at most {MAX_EXTENT} ({WIDE_EXTENT} where all outputs would be empty), of outputs at most "
    f"{MAX_OUTPUT_EXTENT}, "
    f"numbers in attributes and constants from {LEAST_ATTRIBUTE} to {LARGEST_ATTRIBUTE}"
)
EFFORT = 20_000_000
"""Steps of the solver for one class."""
EFFORT_OF_PAIR = 400_000
"""Steps of the solver for a pair of classes."""
EFFORT_OF_PAIRS = 60_000_000
"""Steps of the solver for all pairs of classes of one version together; what is left then is not asked."""
PAIRS_BETWEEN_PROGRESS = 200
"""Pairs that are asked between two lines of progress."""
CLASS = "class."
"""What the names of the conditions that a class occurs begin with."""
SATISFIABLE, UNSATISFIABLE, UNKNOWN = "satisfiable", "unsatisfiable", "unknown"


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
    family: SignatureFamily, pairs: bool = False, progress: Callable[[str], None] = lambda _: None
) -> Structures:
    """The classes and calls of one signature; equal signatures give equal ones.

    Args:
        family: the signature.
        pairs: cover all pairs of classes.
        progress: called with what is done, where pairs take long.
    """
    family = replace(family, folded=True)
    with family.context():
        literals, questions = [*literals_of(family)], BitQuestions()
        most = _largest_extent(family, questions)
        conditions, preferred = [*conforming(family), *_bounds(family, most)], _filled(family)
        search = _Search(conditions, literals, preferred, questions)
        agreed = search.agree()
        absent = any(
            _Search([*conditions, term], [], [], questions).any()
            for name, term in _optional_outputs(family).items()
            if not agreed.get(name)
        )
        present = [*_optional_outputs(family).values()] if absent else []
        listing = _not_empty(family, agreed)
        if present or listing:
            search = _Search(conditions, literals, [*present, *listing, *preferred], questions)
        answers, models = search.cover([*((index,) for index in range(len(literals))), *combined(literals)])
        possible = sorted(number for number, answer in answers.items() if answer == SATISFIABLE)
        decisions = search.cover_pairs(possible, models, progress) if pairs else None
        positive: list[Structure] = []
        negative: list[Structure] = []
        unbroken, occurring = [], []
        bases: list[tuple[Mapping[str, int], CallInstance]] = []
        for values, members in models:
            call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
            if report.verdict not in (Verdict.PASS, Verdict.ASSUMED):
                continue
            occurring.append(members)
            names = tuple(literals[member].name for member in members)
            # Models that differ in what no call shows, such as extents of axes that are not there, give equal calls.
            known = next((place for place, structure in enumerate(positive) if structure.call == call), None)
            if known is None:
                positive.append(Structure(call, names))
                bases.append((values, call))
            else:
                both = dict.fromkeys((*positive[known].classes, *names))
                positive[known] = replace(positive[known], classes=tuple(both))
        for rule in family.rules:
            reason = _add_breaking_calls(family, rule, literals, most, questions, negative)
            if reason:
                unbroken.append((rule.slug, reason))
        sized = tuple(sized_calls(family, bases))
        unpadded = tuple(unpadded_calls(family, bases))
        positive += [Structure(call, ()) for call in unpadded]
    classes = tuple(StructureClass(literal.name, literal.rule, answers[n]) for n, literal in enumerate(literals))
    decided = None if decisions is None else _pair_answers(classes, possible, occurring, decisions)
    return Structures(family, classes, tuple(positive), tuple(negative), tuple(unbroken), sized, unpadded, decided)


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
    search = _Search(
        [*conforming(family), *_bounds(family, WIDE_EXTENT), *wanted],
        [],
        [*filled[:1], *liked, *filled[1:]],
        BitQuestions(),
    )
    values = search.preferred_model()
    if values is None:
        return None
    call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
    return call if report.verdict in (Verdict.PASS, Verdict.ASSUMED) else None


def problem(family: SignatureFamily) -> str:
    """The conditions and classes of a signature as the solver gets them: equal texts have equal answers."""
    family = replace(family, folded=True)
    with family.context():
        return script(
            [
                *conforming(family),
                *_bounds(family, _largest_extent(family, BitQuestions())),
                *(literal.term for literal in literals_of(family)),
            ]
        )


@dataclass(frozen=True, slots=True)
class _PairDecisions:
    """Two tables of pairs of classes, by their numbers: those that cannot occur, and those that were not asked."""

    impossible: Array
    not_asked: Array


def _pair_answers(
    classes: Sequence[StructureClass],
    possible: Sequence[int],
    occurring: Sequence[Sequence[int]],
    decisions: _PairDecisions,
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


def _add_breaking_calls(
    family: SignatureFamily,
    rule: Rule,
    literals: Sequence[Literal],
    most: int,
    questions: BitQuestions,
    negative: list[Structure],
) -> str:
    """Add calls that break one rule alone, one for each class of its comparisons; the reason if there are none."""
    implied = family.implied_by(rule)
    if implied:
        return f"follows from {', '.join(implied)}"
    condition = family.condition(rule)
    onnx = family.onnx(rule)
    demanded: Truth = True if onnx is None else family.variables.condition(rule, onnx).holds
    forbidden = Literal("ONNX forbids it", rule.slug, bool_term(negate(demanded)))
    own = [literal for literal in literals if literal.rule == rule.slug]
    broken_alone = [*breaking(family, rule), bool_term(condition.fails), *family.readable(rule), *_bounds(family, most)]
    search = _Search(broken_alone, [*own, forbidden], _filled(family), questions)
    before = len(negative)
    for values, members in search.cover((index,) for index in range(len(own) + 1))[1] or search.any():
        call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
        fails = any(finding.rule == rule.slug and finding.verdict is Verdict.FAIL for finding in report.findings)
        if fails and call not in [structure.call for structure in negative]:
            names = tuple(own[member].name for member in members if member < len(own))
            negative.append(Structure(call, names, rule.slug, len(own) in members))
    return "" if len(negative) > before else f"no call within the bounds ({BOUNDS}) breaks it alone"


class _Search:
    """Conditions in their own context of the solver, so that the models do not depend on earlier questions."""

    def __init__(
        self,
        conditions: Iterable[z3.BoolRef],
        literals: Sequence[Literal],
        preferred: Sequence[z3.BoolRef],
        questions: BitQuestions,
    ) -> None:
        conditions, terms = [*conditions], [*(literal.term for literal in literals), *preferred]
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        if divides(conditions):
            with suppress(Unbounded):
                conditions, terms = questions.as_bits(conditions, terms)
                self.solver = z3.SolverFor("QF_BV", ctx=self.context)
                # Questions are many and small: to simplify the clauses before each takes longer than to answer it.
                self.solver.set("simplify.delay", EFFORT)
        defined = [z3.Bool(f"{CLASS}{number}") == term for number, term in enumerate(terms[: len(literals)])]
        liked = [z3.Bool(f"preferred.{number}") == term for number, term in enumerate(terms[len(literals) :])]
        self.solver.set("rlimit", EFFORT)
        self.solver.from_string(script([*conditions, *defined, *liked]))
        self.preferred = [z3.Bool(f"preferred.{number}", self.context) for number in range(len(preferred))]
        self.terms = [z3.Bool(f"{CLASS}{number}", self.context) for number in range(len(literals))]
        self.agreeing: list[z3.BoolRef] | None = None
        """The preferred conditions that hold together, each in turn where possible."""

    def cover(
        self, combinations_to_cover: Iterable[tuple[int, ...]]
    ) -> tuple[dict[int, str], list[tuple[Mapping[str, int], list[int]]]]:
        """For each literal the answer; models in which all satisfiable combinations occur, each with its literals."""
        answers: dict[int, str] = {}
        models: list[tuple[Mapping[str, int], list[int]]] = []
        for combination in combinations_to_cover:
            if any(set(combination) <= set(members) for _, members in models) or any(
                answers.get(number) == UNSATISFIABLE for number in combination
            ):
                continue
            model = self._preferably([self.terms[number] for number in combination])
            if isinstance(model, z3.ModelRef):
                models.append(self._values(model))
                answers |= dict.fromkeys(models[-1][1], SATISFIABLE)
            elif len(combination) == 1:
                answers[combination[0]] = UNSATISFIABLE if model == z3.unsat else UNKNOWN
        return answers, models

    def cover_pairs(
        self,
        possible: Sequence[int],
        models: list[tuple[Mapping[str, int], list[int]]],
        progress: Callable[[str], None],
    ) -> _PairDecisions:
        """Add models until every pair of these literals occurs that can, then remove those that are not needed.

        Pairs are asked as long as `EFFORT_OF_PAIRS` lasts; those that the solver does not decide are in no table.
        """
        occurs = np.zeros((len(self.terms), len(self.terms)), np.int64)
        impossible, not_asked = (np.zeros(occurs.shape, np.bool_) for _ in range(2))
        for _, members in models:
            occurs[np.ix_(members, members)] += 1
        self.solver.set("rlimit", EFFORT_OF_PAIR)
        is_spent, before, total = False, self._steps(), len(possible) * (len(possible) - 1) // 2
        for number, (one, other) in enumerate(combinations(possible, 2)):
            if number % PAIRS_BETWEEN_PROGRESS == 0:
                progress(f"pairs of classes, {number} of {total}")
            if occurs[one, other]:
                continue
            is_spent = is_spent or self._steps() - before > EFFORT_OF_PAIRS
            if is_spent:
                not_asked[one, other] = True
                continue
            model = self._preferably([self.terms[one], self.terms[other]])
            if isinstance(model, z3.ModelRef):
                models.append(self._values(model))
                occurs[np.ix_(models[-1][1], models[-1][1])] += 1
            impossible[one, other] = model == z3.unsat
        for example in sorted(models, key=lambda example: len(example[1])):
            places = np.ix_(example[1], example[1])
            if (occurs[places] > 1).all():
                occurs[places] -= 1
                models.remove(example)
        return _PairDecisions(impossible, not_asked)

    def _steps(self) -> int:
        """The steps that the solver has taken."""
        statistics = self.solver.statistics()
        known = statistics.keys()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in known else 0

    def _preferably(self, terms: Sequence[z3.BoolRef]) -> z3.ModelRef | z3.CheckSatResult:
        """A model of the terms that also satisfies the preferred conditions, each in turn where possible; the answer of
        the solver where there is none.
        """
        if self.agreeing is None:
            self.agree()
        agreeing = self.agreeing or []
        # Where the terms hold with all conditions that agree without them, these are the ones that a turn would keep.
        answer = self.solver.check(*terms, *agreeing)
        if answer == z3.sat:
            return self.solver.model()
        if answer == z3.unsat and not {term.get_id() for term in agreeing} & {
            term.get_id() for term in self.solver.unsat_core()
        }:
            return answer
        answer = self.solver.check(*terms)
        return self._with_preferred(terms)[0] if answer == z3.sat else answer

    def _with_preferred(self, terms: Sequence[z3.BoolRef]) -> tuple[z3.ModelRef, list[z3.BoolRef]]:
        """A model as `_preferably` gives it, and the preferred conditions that it was asked to satisfy; the last answer
        of the solver was a model of the terms.
        """
        model, kept = self.solver.model(), list[z3.BoolRef]()
        for liked in self.preferred:
            if z3.is_true(model[liked]):
                kept.append(liked)
            elif self.solver.check(*terms, *kept, liked) == z3.sat:
                model = self.solver.model()
                kept.append(liked)
        return model, kept

    def agree(self) -> Mapping[str, int]:
        """Decide which preferred conditions agree; the values of a model in which they hold, none without a model."""
        self.agreeing = []
        if self.solver.check() != z3.sat:
            return {}
        model, self.agreeing = self._with_preferred([])
        return self._values(model)[0]

    def preferred_model(self) -> Mapping[str, int] | None:
        """The values of a model that satisfies the preferred conditions, each in turn where possible."""
        model = self._preferably([])
        return self._values(model)[0] if isinstance(model, z3.ModelRef) else None

    def any(self) -> list[tuple[Mapping[str, int], list[int]]]:
        """One model, if there is one."""
        return [self._values(self.solver.model())] if self.solver.check() == z3.sat else []

    def _values(self, model: z3.ModelRef) -> tuple[Mapping[str, int], list[int]]:
        """The values of a model by name, and the literals that hold in it."""
        values, members = dict[str, int](), list[int]()
        ref = self.context.ref()
        for place in range(z3.Z3_model_get_num_consts(ref, model.model)):
            declared = z3.Z3_model_get_const_decl(ref, model.model, place)
            name: str = z3.Z3_get_symbol_string(ref, z3.Z3_get_decl_name(ref, declared))
            if name.startswith(CLASS):  # without objects of Python for the many values
                value = z3.Z3_model_get_const_interp(ref, model.model, declared)
                if z3.Z3_get_bool_value(ref, value) == z3.Z3_L_TRUE:
                    members.append(int(name.removeprefix(CLASS)))
            elif not name.startswith(("preferred.", "bits.")):
                values[name] = value_of(signed(model[z3.FuncDeclRef(declared, self.context)]))
        return dict(sorted(values.items())), sorted(members)


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
    search = _Search([*conforming(family), *_bounds(family, MAX_EXTENT), some], [], [], questions)
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
