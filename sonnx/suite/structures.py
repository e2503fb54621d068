"""Structure classes of an operator, and calls in which they occur.

Every comparison in a rule is split into below, at and above; every fact that may be absent into present and absent;
types, ranks, extents and counts into their values.  The solver decides whether a conforming call of a class exists
within `BOUNDS`, and each call that it gives is counted for all classes that occur in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

import numpy as np
import z3

from sonnx.checker.verdicts import Verdict
from sonnx.language.domain import written_key
from sonnx.numerics.formats import Array
from sonnx.profile.definitions import Rule
from sonnx.proofs.derived import breaking, conforming
from sonnx.prover.call_variables import element as element_of
from sonnx.prover.counterexample import value_of
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_values import Truth, bool_term, negate
from sonnx.prover.solvers import script
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.bounded import Unbounded, as_bits, divides, signed

EXTENTS = (0, 1, 2, 3, 5)
"""Extents that are classes; 5 is one more than a vector instruction often takes."""
MAX_EXTENT, MAX_OUTPUT_EXTENT = 5, 12
LEAST_ATTRIBUTE, LARGEST_ATTRIBUTE = -4, 24
BOUNDS = (
    f"extents of inputs at most {MAX_EXTENT}, of outputs at most {MAX_OUTPUT_EXTENT}, "
    f"numbers in attributes and constants from {LEAST_ATTRIBUTE} to {LARGEST_ATTRIBUTE}"
)
WIDE_NUMBERS = (("int32", 24), ("int64", 24), ("int64", 32), ("int64", 53))
"""Integer types, and exponents of the first whole numbers that a narrower type does not have."""
EFFORT = 20_000_000
"""Steps of the solver for one class."""
EFFORT_OF_PAIR = 400_000
"""Steps of the solver for a pair of classes."""
NAME_LENGTH = 90
SATISFIABLE, UNSATISFIABLE, UNKNOWN = "satisfiable", "unsatisfiable", "unknown"
_COMPARISONS = {z3.Z3_OP_LE, z3.Z3_OP_GE, z3.Z3_OP_LT, z3.Z3_OP_GT, z3.Z3_OP_EQ}


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
    """

    call: CallInstance
    classes: tuple[str, ...]
    broken: str = ""
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class Structures:
    """The classes of one version of an operator in one edition, and calls that cover those that are satisfiable."""

    family: SignatureFamily
    classes: tuple[StructureClass, ...]
    positive: tuple[Structure, ...]
    negative: tuple[Structure, ...]
    unbroken: tuple[tuple[str, str], ...]
    """The rules that no call of the suite breaks alone, each with the reason."""
    pairs: PairAnswers | None = None
    """What the solver said about pairs of classes; None where it was not asked."""


@dataclass(frozen=True, slots=True)
class PairAnswers:
    """Pairs of satisfiable classes: how many occur together in a call, how many cannot, and those not decided."""

    covered: int
    unsatisfiable: int
    unknown: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Literal:
    name: str
    rule: str
    term: z3.BoolRef


def structures(family: SignatureFamily, pairs: bool = False) -> Structures:
    """The classes and calls of one signature, with all pairs of classes if asked; equal signatures give equal ones."""
    family = replace(family, folded=True)
    with family.context():
        literals = [*_literals(family)]
        search = _Search([*conforming(family), *_bounds(family)], literals, _filled(family))
        answers, models = search.cover([*((each,) for each in range(len(literals))), *_combined(literals)])
        possible = sorted(each for each, answer in answers.items() if answer == SATISFIABLE)
        impossible = search.cover_pairs(possible, models) if pairs else None
        positive: list[Structure] = []
        negative: list[Structure] = []
        unbroken, occurring = [], []
        for values, members in models:
            call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
            if report.verdict not in (Verdict.PASS, Verdict.ASSUMED):
                continue
            occurring.append(members)
            names = tuple(literals[each].name for each in members)
            # Models that differ in what no call shows, such as extents of axes that are not there, give equal calls.
            known = next((place for place, each in enumerate(positive) if each.call == call), None)
            if known is None:
                positive.append(Structure(call, names))
            else:
                both = dict.fromkeys((*positive[known].classes, *names))
                positive[known] = replace(positive[known], classes=tuple(both))
        for rule in family.rules:
            reason = _break(family, rule, literals, negative)
            if reason:
                unbroken.append((rule.slug, reason))
    classes = tuple(StructureClass(each.name, each.rule, answers[n]) for n, each in enumerate(literals))
    decided = None if impossible is None else _pair_answers(classes, possible, occurring, impossible)
    return Structures(family, classes, tuple(positive), tuple(negative), tuple(unbroken), decided)


def problem(family: SignatureFamily) -> str:
    """The conditions and classes of a signature as the solver gets them: equal texts have equal answers."""
    family = replace(family, folded=True)
    with family.context():
        return script([*conforming(family), *_bounds(family), *(each.term for each in _literals(family))])


def _pair_answers(
    classes: Sequence[StructureClass], possible: Sequence[int], occurring: Sequence[Sequence[int]], impossible: Array
) -> PairAnswers:
    """What is known of the pairs of possible classes: a pair that is neither impossible nor in a model is unknown."""
    occurs = np.zeros(impossible.shape, np.bool_)
    for members in occurring:
        occurs[np.ix_(members, members)] = True
    asked = np.zeros(impossible.shape, np.bool_)
    asked[np.ix_(possible, possible)] = True
    asked = np.triu(asked, 1)
    unknown = [(classes[one].name, classes[other].name) for one, other in np.argwhere(asked & ~occurs & ~impossible)]
    return PairAnswers(int((asked & occurs).sum()), int((asked & impossible).sum()), tuple(unknown))


def _break(family: SignatureFamily, rule: Rule, literals: Sequence[_Literal], made: list[Structure]) -> str:
    """Add calls that break one rule, one for each class of its comparisons that can occur there; why there are none."""
    implied = family.implied_by(rule)
    if implied:
        return f"follows from {', '.join(implied)}"
    condition = family.condition(rule)
    onnx = family.onnx(rule)
    demanded: Truth = True if onnx is None else family.variables.condition(rule, onnx).holds
    forbidden = _Literal("ONNX forbids it", rule.slug, bool_term(negate(demanded)))
    own = [each for each in literals if each.rule == rule.slug]
    given = [*breaking(family, rule), bool_term(condition.fails), *family.readable(rule), *_bounds(family)]
    search = _Search(given, [*own, forbidden], _filled(family))
    before = len(made)
    for values, members in search.cover((each,) for each in range(len(own) + 1))[1] or search.any():
        call, report = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
        fails = any(each.rule == rule.slug and each.verdict is Verdict.FAIL for each in report.findings)
        if fails and call not in [each.call for each in made]:
            names = tuple(own[each].name for each in members if each < len(own))
            made.append(Structure(call, names, rule.slug, len(own) in members))
    return "" if len(made) > before else f"no call within the bounds ({BOUNDS}) breaks it alone"


class _Search:
    """Conditions in a context of the solver of their own, so that the models do not depend on earlier questions."""

    def __init__(
        self, conditions: Iterable[z3.BoolRef], literals: Sequence[_Literal], preferred: Sequence[z3.BoolRef]
    ) -> None:
        conditions, terms = [*conditions], [*(each.term for each in literals), *preferred]
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        if divides(conditions):
            with suppress(Unbounded):
                conditions, terms = as_bits(conditions, terms)
                self.solver = z3.SolverFor("QF_BV", ctx=self.context)
        defined = [z3.Bool(f"class.{number}") == each for number, each in enumerate(terms[: len(literals)])]
        liked = [z3.Bool(f"preferred.{number}") == each for number, each in enumerate(terms[len(literals) :])]
        self.solver.set("rlimit", EFFORT)
        self.solver.from_string(script([*conditions, *defined, *liked]))
        self.preferred = [z3.Bool(f"preferred.{number}", self.context) for number in range(len(preferred))]
        self.terms = [z3.Bool(f"class.{number}", self.context) for number in range(len(literals))]

    def cover(
        self, wanted: Iterable[tuple[int, ...]]
    ) -> tuple[dict[int, str], list[tuple[Mapping[str, int], list[int]]]]:
        """For each literal the answer; models in which all satisfiable combinations occur, each with its literals."""
        answers: dict[int, str] = {}
        models: list[tuple[Mapping[str, int], list[int]]] = []
        for each in wanted:
            if any(set(each) <= set(members) for _, members in models) or any(
                answers.get(one) == UNSATISFIABLE for one in each
            ):
                continue
            answer = self._preferably([self.terms[one] for one in each])
            if answer == z3.sat:
                models.append(self._model())
                answers |= dict.fromkeys(models[-1][1], SATISFIABLE)
            elif len(each) == 1:
                answers[each[0]] = UNSATISFIABLE if answer == z3.unsat else UNKNOWN
        return answers, models

    def cover_pairs(self, possible: Sequence[int], models: list[tuple[Mapping[str, int], list[int]]]) -> Array:
        """Add models until every pair of these literals occurs that can, then remove those that are not needed.

        Returns: the pairs that no model has; those that the solver did not decide are not among them.
        """
        occurs = np.zeros((len(self.terms), len(self.terms)), np.int64)
        impossible = np.zeros(occurs.shape, np.bool_)
        for _, members in models:
            occurs[np.ix_(members, members)] += 1
        self.solver.set("rlimit", EFFORT_OF_PAIR)
        for one, other in combinations(possible, 2):
            if occurs[one, other]:
                continue
            terms = [self.terms[one], self.terms[other]]
            answer = self.solver.check(*terms)
            impossible[one, other] = answer == z3.unsat
            if answer == z3.sat:
                self._preferably(terms)
                models.append(self._model())
                occurs[np.ix_(models[-1][1], models[-1][1])] += 1
        for model in sorted(models, key=lambda each: len(each[1])):
            places = np.ix_(model[1], model[1])
            if (occurs[places] > 1).all():
                occurs[places] -= 1
                models.remove(model)
        return impossible

    def _preferably(self, terms: Sequence[z3.BoolRef]) -> z3.CheckSatResult:
        """Look for a model of terms in which as many as possible of the preferred conditions hold, the first first."""
        if self.solver.check(*terms, *self.preferred) == z3.sat:
            return z3.sat
        answer = self.solver.check(*terms)
        if answer != z3.sat:
            return answer
        kept, last = [*terms], True
        for liked in self.preferred:
            last = self.solver.check(*kept, liked) == z3.sat
            kept += [liked] * last
        return z3.sat if last or self.solver.check(*kept) == z3.sat else self.solver.check(*terms)

    def any(self) -> list[tuple[Mapping[str, int], list[int]]]:
        """One model, if there is one."""
        return [self._model()] if self.solver.check() == z3.sat else []

    def _model(self) -> tuple[Mapping[str, int], list[int]]:
        model = self.solver.model()
        members = [number for number, term in enumerate(self.terms) if z3.is_true(model.eval(term))]
        values = {each.name(): model[each] for each in sorted(model.decls(), key=z3.FuncDeclRef.name)}
        skipped = ("class.", "preferred", "bits.")
        return {
            name: value_of(signed(value)) for name, value in values.items() if not name.startswith(skipped)
        }, members


def _bounds(family: SignatureFamily) -> Iterator[z3.BoolRef]:
    """The bounds of a call, see `BOUNDS`."""
    outputs = {each.name for each in family.signature.outputs}
    for name, tensor in family.variables.tensors.items():
        most = MAX_OUTPUT_EXTENT if tensor.formal in outputs else MAX_EXTENT
        for axis, extent in enumerate(_extents(family, name)):
            yield extent <= most
            # An axis that is not there has no class.
            yield z3.Implies(z3.Int(f"{name}.rank") <= axis, extent == 0)
    for parameter in family.signature.parameters:
        for number in _numbers(family, parameter.name, parameter.kind):
            yield z3.And(number >= LEAST_ATTRIBUTE, number <= LARGEST_ATTRIBUTE)


def _numbers(family: SignatureFamily, name: str, kind: str) -> list[z3.ArithRef]:
    make = z3.Real if kind.startswith("float") else z3.Int
    if kind in ("int", "float"):
        values = [make(name)] if name not in {each.name for each in family.signature.values} else [make(f"{name}.0")]
    elif kind in ("ints", "floats"):
        values = [make(f"{name}.{index}") for index in range(family.bounds.values)]
    else:
        values = []
    return values


def _filled(family: SignatureFamily) -> list[z3.BoolRef]:
    """Preferred where it is possible, the first ones before the others: tensors with several elements, or with any, and
    positive numbers in lists.
    """
    several, some = [], []
    listed = {each.name for each in family.signature.values}
    for name, tensor in family.variables.tensors.items():
        if tensor.formal in listed:  # as long as its list
            continue
        rank = z3.Int(f"{name}.rank")
        extents = [(rank > axis, extent) for axis, extent in enumerate(_extents(family, name))]
        several.append(z3.And(rank >= 1, *[z3.Implies(used, extent >= 2) for used, extent in extents]))
        some.append(z3.And(*[z3.Implies(used, extent >= 1) for used, extent in extents]))
    for parameter in (*family.signature.attributes, *family.signature.values):
        if parameter.kind == "ints":
            length, numbers = z3.Int(f"{parameter.name}.length"), _numbers(family, parameter.name, parameter.kind)
            some.append(
                z3.And(length >= 1, *[z3.Implies(length > place, number >= 1) for place, number in enumerate(numbers)])
            )
    return [*several, *some]


def _extents(family: SignatureFamily, name: str) -> list[z3.ArithRef]:
    shape = family.variables.tensors[name].record.fields["shape"]
    return [z3.Int(f"{name}.{axis}") for axis in range(len(shape.items))]


def _literals(family: SignatureFamily) -> Iterator[_Literal]:
    """The classes: of facts, then of the comparisons of the rules."""
    outputs = {each.name for each in family.signature.outputs}
    for name, tensor in family.variables.tensors.items():
        there = bool_term(tensor.present)
        if tensor.formal in outputs:
            for axis, extent in enumerate(_extents(family, name)):
                for number in EXTENTS[:2]:
                    wide = z3.And(there, z3.Int(f"{name}.rank") > axis, extent == number)
                    yield _Literal(f"{name} has extent {number} on axis {axis}", "", wide)
            continue
        for code, element in enumerate(ELEMENT_TYPES):
            yield _Literal(f"{name} is {element}", "", z3.And(there, z3.Int(f"{name}.type") == code))
        extents = _extents(family, name)
        for rank in range(len(extents) + 1):
            yield _Literal(f"{name} has rank {rank}", "", z3.And(there, z3.Int(f"{name}.rank") == rank))
        for axis, extent in enumerate(extents):
            for number in EXTENTS:
                wide = z3.And(there, z3.Int(f"{name}.rank") > axis, extent == number)
                yield _Literal(f"{name} has extent {number} on axis {axis}", "", wide)
    for each in family.signature.inputs:
        if each.variadic:
            for count in range(family.bounds.count + 1):
                yield _Literal(f"{count} inputs {each.name}", "", z3.Int(f"{each.name}.count") == count)
    for parameter in family.signature.attributes:
        written = family.variables.names.get(written_key(parameter.name))
        if parameter.kind == "tensor" and written is not None:
            for code, element in enumerate(ELEMENT_TYPES):
                term = z3.And(bool_term(written), z3.Int(f"{parameter.name}.type") == code)
                yield _Literal(f"{parameter.name} is {element}", "", term)
    yield from _parameters(family)
    listed = {each.name for each in family.signature.values}
    for name in sorted((family.variables.with_values - listed) & family.variables.tensors.keys()):
        there = bool_term(family.variables.tensors[name].present)
        for element_type, bits in WIDE_NUMBERS:
            typed = z3.And(there, z3.Int(f"{name}.type") == ELEMENT_TYPES.index(element_type))
            term = z3.And(typed, element_of(name).term == 2**bits + 1)
            yield _Literal(f"{name} is {element_type} 2^{bits} + 1", "", term)
    for question, truth in family.variables.names.items():
        if question.endswith(")") and z3.is_expr(truth):
            yield _Literal(question, "", truth)
            yield _Literal(f"not {question}", "", z3.Not(truth))
    known: set[str] = set()
    for rule in family.rules:
        for number, (left, right) in enumerate(_comparisons(bool_term(family.holds(rule)))):
            texts = [" ".join(str(side).split()) for side in (left, right)]
            if " against ".join(sorted(texts)) in known:
                continue
            known.add(" against ".join(sorted(texts)))
            short = sum(map(len, texts)) <= NAME_LENGTH
            for sign, term in (("<", left < right), ("=", left == right), (">", left > right)):
                said = f"{texts[0]} {sign} {texts[1]}" if short else f"comparison {number} is {sign}"
                yield _Literal(f"{rule.slug}: {said}", rule.slug, term)
    for parameter in family.signature.attributes:  # the rules have told which texts there are
        for text, code in family.variables.interpretation.codes.items():
            if parameter.kind == "string" and code >= len(ELEMENT_TYPES):
                written = bool_term(family.variables.names[written_key(parameter.name)])
                term = z3.And(written, z3.Int(f"{parameter.name}.text") == code)
                yield _Literal(f"{parameter.name} is {text!r}", "", term)


def _parameters(family: SignatureFamily) -> Iterator[_Literal]:
    """The classes of numbers of parameters: each number by its sign, 0 and 1; of a list its length, and the order of
    neighbours and of numbers at the same place of both halves.
    """
    for parameter in (*family.signature.attributes, *family.signature.values):
        name, numbers = parameter.name, _numbers(family, parameter.name, parameter.kind)
        there = bool_term(family.variables.names[written_key(name)])
        length = z3.Int(f"{name}.length")
        several = parameter.kind.endswith("s")
        for place, number in enumerate(numbers):
            used = z3.And(there, length > place) if several else there
            called = f"{name}[{place}]" if several else name
            for said, term in (
                ("is negative", number < 0), ("is 0", number == 0), ("is 1", number == 1), ("is above 1", number > 1)
            ):  # fmt: skip
                yield _Literal(f"{called} {said}", "", z3.And(used, term))
        for count in range(len(numbers) + 1) if several else ():
            yield _Literal(f"{count} numbers {name}", "", z3.And(there, length == count))
        pairs = [(one, one + 1, length > one + 1) for one in range(len(numbers) - 1)]
        pairs += [
            (one, one + half, length == 2 * half) for half in range(2, len(numbers) // 2 + 1) for one in range(half)
        ]
        for one, other, used in pairs if several else ():
            for sign, term in (("<", numbers[one] < numbers[other]), (">", numbers[one] > numbers[other])):
                within = f" of {2 * (other - one)}" if other > one + 1 else ""
                yield _Literal(f"{name}[{one}] {sign} {name}[{other}]{within}", "", z3.And(there, used, term))


def _combined(literals: Sequence[_Literal]) -> Iterable[tuple[int, int]]:
    """The element types of the first input with each number of inputs or text of an attribute, and these texts with
    numbers of other attributes: kernels are written for both together.
    """
    # The first classes are the element types of the first input, if there are inputs.
    types = range(len(ELEMENT_TYPES) if literals[0].name.endswith(f" is {ELEMENT_TYPES[0]}") else 0)
    counts = [at for at, each in enumerate(literals) if " inputs " in each.name and not each.rule]
    texts = [at for at, each in enumerate(literals) if each.name.endswith("'") and not each.rule]
    numbers = [at for at, each in enumerate(literals) if each.name.endswith(("is negative", "above 1"))]
    return chain(product(types, counts or texts), product(texts, numbers))


def _comparisons(condition: z3.BoolRef) -> Iterator[tuple[z3.ArithRef, z3.ArithRef]]:
    """The comparisons of numbers in a condition, in the order of its text; those of codes of types are left out."""
    waiting, known = [condition], set[int]()
    while waiting:
        term = waiting.pop()
        if term.get_id() in known or not z3.is_app(term):
            continue
        known.add(term.get_id())
        compares = term.decl().kind() in _COMPARISONS and z3.is_arith(term.arg(0))
        if compares and not any(str(side).endswith((".type", ".text")) for side in term.children()):
            yield term.arg(0), term.arg(1)
        waiting += reversed(term.children())
