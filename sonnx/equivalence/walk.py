"""The comparison of pairs of terms: which terms of two models are equal over the reals, up to rounded constants.

Two terms match where they are one term, where one operator with one key is applied to terms that match, or where their
affine forms have the same images of atoms that match, with weights and biases whose difference a fold explains.  A
match is not transitive where constants differ, so nothing is rewritten by it.  The walk remembers every pair.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from typing import TypeAlias

import numpy as np

from sonnx.equivalence.normal_forms import elementwise, quantization
from sonnx.equivalence.normal_forms.regrouping import TreeKind, leaves_of
from sonnx.equivalence.reach import CERTAIN, reach
from sonnx.equivalence.terms import constants
from sonnx.equivalence.terms.affine import Affine, AffinePart, Forms, broadcasts_along_axis
from sonnx.equivalence.terms.movements import MAX_ELEMENTS, are_equal, broadcast_places, in_order_of_use, moved, size
from sonnx.equivalence.terms.narrowings import below_narrowed, limited_operand
from sonnx.equivalence.terms.store import OWN, Store, Term
from sonnx.language.evaluator import Unknown
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators import find_operator, operator_facts

MAX_PARTS = 1 << 8
"""Parts of an affine form, and operands that are regrouped, whose partners are looked for."""

OUTPUT_AXES = {"conv": 0, "product": 1}
"""The axis of a weight whose index is that of the output."""

MARGIN = 2.0**-20
"""Relative allowance for the roundings of a distance that is computed in float64."""

OVER_REALS = "operators without a definition here are functions of the real numbers in their inputs: {}"

Pair: TypeAlias = tuple[Term, Term]

Comparing: TypeAlias = Generator[Pair, bool, bool]
"""A comparison of two terms, written as a generator because models are deeper than Python's stack.

It yields each pair of terms whose answer it needs, and is sent whether they match; it returns whether its own pair
matches.  So `if not (yield first, second)` reads "if these two do not match".  `Walk.matches` runs comparisons.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """A pair of matched terms between which constants were folded or rounded.

    On equal atoms x the ideal values differ by at most `gain` max |x| + `offset`.

    Attributes:
        first: the term of the first model.
        second: the term of the second model.
        gain: the largest sum of distances of the weights of one output element; 0 where the weights are equal.
        offset: the largest distance of the biases.
        weight: the largest distance of two weights.
        relative: the largest distance of two constants, relative to the largest of their array.
        roundings: the roundings that the fold may have had.
        is_narrowed: only narrowings put the constants apart.
    """

    first: Term
    second: Term
    gain: float
    offset: float
    weight: float
    relative: float
    roundings: int
    is_narrowed: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the constants are equal as real numbers."""
        return self.gain == 0 and self.offset == 0


@dataclass(frozen=True, eq=False, slots=True)
class Mismatch:
    """A pair of terms that could not be matched although what they are made of could; `reason` is half a sentence.
    `is_numeric`: they are one formula with other numbers.
    """

    first: Term
    second: Term
    reason: str
    is_numeric: bool = False


@dataclass(eq=False, slots=True)
class _Comparison:
    """A comparison that runs, and what is known of the pairs that it has asked for.

    Attributes:
        pair: the terms that are compared.
        steps: the comparison.
        is_inexact: below a pair that it asked for, constants differ as real numbers.
        flip: below a pair that it asked for, or at this one, the first operator that may jump on such values.
    """

    pair: Pair
    steps: Comparing
    is_inexact: bool = False
    flip: Pair | None = None


@dataclass(eq=False)
class Walk:
    """Matches terms of two models.

    Attributes:
        store: of the terms.
        cuts: the matched pairs whose constants were compared, by their terms.
        mismatches: the pairs that did not match by themselves.
        failed: all pairs that do not match, those that are made of such pairs included.
        decisions: matched operators that may jump, on operands that are not identical.
        quanta: matched quantized values that roundings may move by one quantum, and by how many quanta they do so at
            most before the quotient becomes a whole number; None where that is half a quantum or not known.
    """

    store: Store
    cuts: dict[tuple[int, int], Cut] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    failed: list[Mismatch] = field(default_factory=list)
    decisions: dict[tuple[int, int], Pair] = field(default_factory=dict)
    quanta: dict[tuple[int, int], tuple[Pair, float | None]] = field(default_factory=dict)
    _answers: dict[tuple[int, int], bool] = field(default_factory=dict)
    _inexact: set[tuple[int, int]] = field(default_factory=set)
    _flips: dict[tuple[int, int], Pair] = field(default_factory=dict)
    _running: list[_Comparison] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forms = Forms(self.store)

    def flip_below(self, first: Term, second: Term) -> Pair | None:
        """The first pair of operators below two matching terms that may jump because their operands have constants that
        differ as real numbers: then the terms need not be equal over the reals.  None where there is no such pair.
        """
        return self._flips.get((first.number, second.number))

    def equal_up_to_rounding(self, first: Term, second: Term) -> bool:
        """Whether two terms match, and no operator below them jumps where rounded constants put its operands apart."""
        return self.matches(first, second) and self.flip_below(first, second) is None

    def matches(self, first: Term, second: Term) -> bool:
        """Whether two terms are equal over the reals, up to constants whose difference a fold explains."""
        answer = self._known_answer(first, second)
        running = self._running
        if answer is None:
            running.append(_Comparison((first, second), self._compared(first, second)))
        to_send: bool | None = None
        while running:
            comparison = running[-1]
            try:
                asked = next(comparison.steps) if to_send is None else comparison.steps.send(to_send)
            except StopIteration as stop:
                running.pop()
                answer = to_send = bool(stop.value)
                self._finish(comparison, matches=answer)
                continue
            to_send = self._known_answer(*asked)
            if to_send is None:
                running.append(_Comparison(asked, self._compared(*asked)))
            elif to_send:
                self._note_below(asked)
        return bool(answer)

    def _finish(self, comparison: _Comparison, *, matches: bool) -> None:
        """Record the answer of a comparison, and what the one that asked for it has below it."""
        first, second = comparison.pair
        key = first.number, second.number
        self._answers[key] = matches
        if not matches:
            self.failed.append(Mismatch(first, second, "their operands do not match"))
            return
        cut = self.cuts.get(key)
        if comparison.is_inexact or (cut is not None and not cut.is_exact):
            self._inexact.add(key)
        if comparison.flip is not None:
            self._flips[key] = comparison.flip
        if self._running:
            self._note_below(comparison.pair)

    def _note_below(self, pair: Pair) -> None:
        """Record for the comparison that runs what is below a pair that it asked for and that matches."""
        key, comparison = (pair[0].number, pair[1].number), self._running[-1]
        comparison.is_inexact |= key in self._inexact
        comparison.flip = comparison.flip or self._flips.get(key)

    def _note_jump(self, first: Term, second: Term) -> None:
        """Record for the comparison that runs that an operator jumps where its operands differ."""
        comparison = self._running[-1]
        if comparison.is_inexact and comparison.flip is None:
            comparison.flip = first, second
            self._fails(first, second, "the operator may jump, and its operands are equal up to rounded constants only")

    def _known_answer(self, first: Term, second: Term) -> bool | None:
        if first is second:
            return True
        return self._answers.get((first.number, second.number))

    def _fails(self, first: Term, second: Term, reason: str, *, is_numeric: bool = False) -> bool:
        self.mismatches.append(Mismatch(first, second, reason, is_numeric))
        return False

    def matched_pairs(self) -> Iterator[tuple[int, int]]:
        """The numbers of different terms that match."""
        return (pair for pair, matches in self._answers.items() if matches)

    def _compared(self, first: Term, second: Term) -> Comparing:
        """Whether two different terms match, by the first of the ways that applies."""
        differing = _differing_facts(first, second)
        if differing:
            return self._fails(first, second, differing)
        if first.is_constant and second.is_constant:
            return self._constants(first, second)
        if "narrowed" in (first.operator, second.operator) and (yield from self._narrowed(first, second)):
            return True
        if first.operator == second.operator == "input":
            return self._fails(first, second, "two inputs differ")
        if not first.is_float and "ideal" in (first.operator, second.operator):
            return (yield from self._ideal(first, second))
        if first.is_float and second.is_float:
            forms = self.forms.of(first), self.forms.of(second)
            are_atoms = forms[0].is_atom(first) and forms[1].is_atom(second)
            if not are_atoms and (yield from self._affine(first, second, *forms)):
                return True
        if (yield from self._reshaped(first, second)):
            return True
        if first.operator == second.operator == "QuantizeLinear" and not first.domain and not second.domain:
            return (yield from self._quantized(first, second))
        return (yield from self._by_operator(first, second))

    def _constants(self, first: Term, second: Term) -> bool:
        """Whether two constants are one but for narrowings."""
        if self.store.narrowings is not None and first.is_float and second.is_float:
            reals = constants.leaf_of(self.store, first), constants.leaf_of(self.store, second)
            if constants.are_one_but_for_narrowings(*reals):
                apart = constants.difference(*reals, str(first.facts.type), self.store)
                relative = apart.largest / apart.size if apart.size else 0.0
                self.cuts[first.number, second.number] = Cut(first, second, 0.0, apart.largest, 0.0, relative, 0, True)
                return True
        return self._fails(first, second, "two constants differ", is_numeric=True)

    def _narrowed(self, first: Term, second: Term) -> Comparing:
        """Whether a value that passed through integers matches one that did not, or passed through others; the limits
        of the integers may stand for a Relu or a Clip of the other one.
        """
        alike = first.operator == second.operator and first.key == second.key
        if alike and (yield from self._all_match([(first.inputs[0], second.inputs[0])])):
            return True
        for term, partner in ((first, second), (second, first)):
            below = below_narrowed(term)
            if below is None:
                continue
            value, passage = below
            if (yield (value, partner) if term is first else (partner, value)):
                return True
            limited = limited_operand(partner, passage)
            if limited is None:
                continue
            operand, limits = limited
            if (yield (value, operand) if term is first else (operand, value)):
                assert self.store.narrowings is not None  # noqa: S101  it made the term
                self.store.narrowings.limited[first.number, second.number] = limits
                self.store.rest_on("limited")
                return True
        return False

    def _ideal(self, first: Term, second: Term) -> Comparing:
        """Whether values match of which one is known over the reals only."""
        exact, their_exact = _below_ideal(first), _below_ideal(second)
        if not (yield exact, their_exact):
            return False
        if exact.operator == their_exact.operator == "QuantizeLinear":
            self._note_quantum(exact, their_exact)
        elif exact is not their_exact or find_operator(exact.operator) is None:
            self.decisions[exact.number, their_exact.number] = exact, their_exact
            self._note_jump(exact, their_exact)
        return True

    def _quantized(self, first: Term, second: Term) -> Comparing:
        """Whether values match that one scale and one zero point quantize; a Relu that the lower limit of the integers
        contains changes none.
        """
        operands = quantization.without_clipped_relu(first), quantization.without_clipped_relu(second)
        if first.key != second.key or first.inputs[1:] != second.inputs[1:]:
            return self._fails(first, second, "they are quantized in other ways")
        if operands[0] is None or operands[1] is None or not (yield operands[0], operands[1]):
            return False
        self._note_quantum(first, second)
        return True

    def _note_quantum(self, first: Term, second: Term) -> None:
        """Record by how much two quantized values may differ: roundings move each quotient, and constants that differ
        put the ideal ones apart.
        """
        reaches = reach(self.forms, first), reach(self.forms, second)
        apart = self._quanta_apart(first, second)
        total = None
        if reaches[0] is not None and reaches[1] is not None and apart is not None:
            total = max(reaches[0], reaches[1]) + apart
        self.quanta[first.number, second.number] = (first, second), total if total is None or total < CERTAIN else None
        if self.quanta[first.number, second.number][1] is None:
            self._note_jump(first, second)

    def _quanta_apart(self, first: Term, second: Term) -> float | None:
        """At least the distance in quanta of the ideal quotients of two quantized values on equal inputs of the last
        sums of products before them; None where that is not known.
        """
        if not self._running[-1].is_inexact:
            return 0.0
        operands = quantization.without_clipped_relu(first), quantization.without_clipped_relu(second)
        scale = first.inputs[1].array if len(first.inputs) > 1 and first.inputs[1] is not None else None
        if operands[0] is None or operands[1] is None or scale is None:
            return None
        cut = self.cuts.get((operands[0].number, operands[1].number))
        if cut is None:
            return None
        sizes = [quantization.largest_magnitude(part.atom) for part in self.forms.of(operands[0]).parts]
        if None in sizes:
            return None
        most = max([number for number in sizes if number is not None], default=0.0)
        with np.errstate(all="ignore"):
            apart = (cut.gain * most + cut.offset) / np.min(scale.astype(np.float64), initial=np.inf) * (1 + MARGIN)
        return float(apart) if 0 <= apart < np.inf else None

    # ------------------------------------------------------------------ one operator on matching operands

    def _by_operator(self, first: Term, second: Term) -> Comparing:
        """Whether one operator with one key is applied to operands that match."""
        identity = (first.operator, first.domain, first.output, first.key)
        alike = identity == (second.operator, second.domain, second.output, second.key)
        if not alike or len(first.inputs) != len(second.inputs) or first.operator in ("input", "declared", "unknown"):
            further = "" if first.operator != second.operator else ", with other attributes or inputs"
            return self._fails(first, second, f"they are {_name(first)} and {_name(second)}{further}")
        operands: Sequence[Term | None] = first.inputs
        orders: Iterator[Sequence[Term | None]] = iter([second.inputs])
        if first.operator == "moved":
            movements = in_order_of_use(first), in_order_of_use(second)
            sizes = [[size(source) for source in sources] for sources, _ in movements]
            if not are_equal(movements[0][1], movements[1][1]) or sizes[0] != sizes[1]:
                return self._fails(first, second, "their elements stand in other places")
            operands, their_operands = self._in_one_shape(movements[0][0], movements[1][0])
            if first in operands and second in their_operands:
                return self._fails(first, second, "they are shapes of values that are not comparable")
            orders = iter([their_operands])
        elif _may_be_regrouped(first) and (yield from self._regrouped(first, second)):
            return True
        elif _may_be_swapped(first) and len(second.inputs) == 2:
            orders = permutations(second.inputs)
        for order in orders:
            if (yield from self._all_match(self._operand_pairs(operands, order, first))):
                self._note(first, second)
                return True
        return False

    def _regrouped(self, first: Term, second: Term) -> Comparing:
        """Whether trees of one operator have leaves that match, in any order and with any brackets."""
        trees = [leaves_of(term, TreeKind.of(term)) for term in (first, second)]
        if len(trees[0]) != len(trees[1]) or not 2 < len(trees[0]) <= MAX_PARTS:
            return False
        if not all(_is_finite(leaf) for tree in trees for leaf in tree):
            return False
        left = trees[1]
        for leaf in trees[0]:
            for partner in sorted(left, key=lambda candidate: (leaf is not candidate, not _are_alike(leaf, candidate))):
                if (yield leaf, partner):
                    left.remove(partner)
                    break
            else:
                return False
        self._note(first, second)
        return True

    def _all_match(self, pairs: Sequence[tuple[Term | None, Term | None]]) -> Comparing:
        """Whether the terms of every pair match; a term that is left out matches one that is left out."""
        for first, second in pairs:
            if first is None or second is None:
                if first is not second:
                    return False
            elif not (yield first, second):
                return False
        return True

    def _operand_pairs(
        self, operands: Sequence[Term | None], others: Sequence[Term | None], result: Term
    ) -> list[tuple[Term | None, Term | None]]:
        """Pairs of operands; of an operator on elements, in the shape of the result where one is broadcast."""
        pairs = list(zip(operands, others, strict=True))
        if not elementwise.reads_single_elements(result.operator, result.domain) or result.shape is None:
            return pairs
        return [self._broadcast_pair(*pair, result.shape) for pair in pairs]

    def _broadcast_pair(
        self, first: Term | None, second: Term | None, shape: tuple[int, ...]
    ) -> tuple[Term | None, Term | None]:
        if first is None or second is None or first.shape == second.shape or prod(shape) > MAX_ELEMENTS:
            return first, second
        lists = self._as_list(first, shape), self._as_list(second, shape)
        if lists[0] is None or lists[1] is None:
            return first, second
        return moved(self.store, [lists[0]], None, shape), moved(self.store, [lists[1]], None, shape)

    def _in_one_shape(self, sources: Sequence[Term], others: Sequence[Term]) -> tuple[list[Term], list[Term]]:
        """Sources of equal sizes, those of another shape than their partner as lists."""

        def aligned(source: Term, partner: Term) -> Term:
            return source if source.shape == partner.shape else moved(self.store, [source], None, (size(source),))

        pairs = [(aligned(*pair), aligned(*reversed(pair))) for pair in zip(sources, others, strict=True)]
        return [source for source, _ in pairs], [partner for _, partner in pairs]

    def _note(self, first: Term, second: Term) -> None:
        """Record what a match by one operator rests on, and whether the operator may jump."""
        pairs = zip(first.inputs, second.inputs, strict=True)
        varies = any(
            operand is not partner_operand and operand is not None and not operand.is_discrete
            for operand, partner_operand in pairs
        )
        if varies and not _is_continuous(first):
            self.decisions[first.number, second.number] = first, second
            self._note_jump(first, second)
        if first.operator not in OWN and (first.domain or find_operator(first.operator) is None):
            self.store.assume(OVER_REALS.format(f"{first.domain}.{first.operator}" if first.domain else first.operator))

    def _reshaped(self, first: Term, second: Term) -> Comparing:
        """Whether one operator on elements gives both, of operands that match as lists, in other shapes."""
        plain, their_plain = _below_reshape(first), _below_reshape(second)
        identity = (plain.operator, plain.domain, plain.key)
        alike = identity == (their_plain.operator, their_plain.domain, their_plain.key)
        if not alike or not elementwise.reads_single_elements(plain.operator, plain.domain):
            return False
        if (plain is first and their_plain is second) or plain.shape is None or their_plain.shape is None:
            return False
        if size(plain) != size(their_plain) or len(plain.inputs) != len(their_plain.inputs):
            return False
        if plain.shape == their_plain.shape:
            return (yield plain, their_plain)
        if size(plain) > MAX_ELEMENTS:
            return False
        lists = [self._as_list(operand, plain.shape) for operand in plain.inputs]
        their_lists = [self._as_list(operand, their_plain.shape) for operand in their_plain.inputs]
        if None in lists or None in their_lists:
            return False
        orders = permutations(their_lists) if _may_be_swapped(plain) else iter([tuple(their_lists)])
        for order in orders:
            if (yield from self._all_match(list(zip(lists, order, strict=True)))):
                self._note(plain, their_plain)
                return True
        return False

    def _as_list(self, operand: Term | None, shape: tuple[int, ...]) -> Term | None:
        """The elements of an operand that is broadcast to a shape, as a list."""
        if operand is None or operand.shape is None:
            return None
        if operand.shape == shape:
            return moved(self.store, [operand], None, (size(operand),))
        places = broadcast_places(operand, shape)  # none where the call violates a condition
        return None if places is None else moved(self.store, [operand], places, (places.size,))

    # ------------------------------------------------------------------ affine forms

    def _affine(self, first: Term, second: Term, form: Affine, their_form: Affine) -> Comparing:
        """Whether affine forms have the same images of atoms that match, up to what a fold explains."""
        if len(form.parts) != len(their_form.parts) or len(form.parts) > MAX_PARTS:
            return False
        partners = yield from self._partners(form.parts, their_form.parts)
        if partners is None:
            return False
        element, unit = str(first.facts.type), constants.number(self.store, 1.0)
        gain = weight = 0.0
        differences = []
        for part, partner in zip(form.parts, partners, strict=True):
            weights = part.weight or unit, partner.weight or unit
            difference = constants.difference(*weights, element, self.store, OUTPUT_AXES.get(part.kind))
            if not difference.explained:
                return self._fails(first, second, _unexplained("weights", difference), is_numeric=True)
            gain, weight = gain + difference.gain, max(weight, difference.largest)
            differences.append(difference)
        offset = constants.difference(form.bias, their_form.bias, element, self.store)
        if not offset.explained:
            return self._fails(first, second, _unexplained("biases", offset), is_numeric=True)
        relative = [each.largest / each.size for each in (*differences, offset) if each.size]
        reals = [form.bias, their_form.bias, *(part.weight for part in (*form.parts, *partners))]
        roundings = [real.roundings for real in reals if real is not None]
        self.cuts[first.number, second.number] = Cut(
            first, second, gain, offset.largest, weight, max(relative, default=0.0), max(roundings, default=0),
            all(each.narrowed or not each.largest for each in (*differences, offset)),
        )  # fmt: skip
        return True

    def _partners(
        self, parts: Sequence[AffinePart], others: Sequence[AffinePart]
    ) -> Generator[Pair, bool, list[AffinePart] | None]:
        """The parts of the second form in the order of the first, each with an atom that matches."""
        left, partners = list(others), dict[int, AffinePart]()
        for index, part in enumerate(parts):
            same = next((each for each in left if _kind(each) == _kind(part) and each.atom is part.atom), None)
            if same is not None:
                partners[index] = same
                left.remove(same)
        for index, part in enumerate(parts):
            if index in partners:
                continue
            candidates = [candidate for candidate in left if _kind(candidate) == _kind(part)]
            for candidate in sorted(candidates, key=lambda candidate: not _are_alike(part.atom, candidate.atom)):
                if (yield part.atom, candidate.atom):
                    partners[index] = candidate
                    left.remove(candidate)
                    break
            else:
                return None
        return [partners[index] for index in range(len(parts))]


def _differing_facts(first: Term, second: Term) -> str:
    """How types or shapes differ, "" where they do not or are not known."""
    types, shapes = (first.facts.type, second.facts.type), (first.shape, second.shape)
    if types[0] != types[1] and not any(isinstance(element, Unknown) for element in types):
        return f"their types differ: {types[0]} and {types[1]}"
    if None not in shapes and shapes[0] != shapes[1]:
        return f"their shapes differ: {list(shapes[0] or ())} and {list(shapes[1] or ())}"
    return ""


def _below_ideal(term: Term) -> Term:
    """The operand of a term that is ideal over the reals; the term itself if it is exact."""
    while term.operator == "ideal" and term.inputs[0] is not None:
        term = term.inputs[0]
    return term


def _below_reshape(term: Term) -> Term:
    """The term that a reshape has as its operand; the term itself if it is not a reshape."""
    source = term.inputs[0] if term.operator == "moved" and term.places is None else None
    return term if source is None else source


def _kind(part: AffinePart) -> object:
    return part.kind, part.key


def _unexplained(what: str, difference: constants.ConstantDifference) -> str:
    if np.isinf(difference.size):
        return f"their {what} may overflow"
    if not np.isfinite(difference.largest):
        return f"their {what} are not comparable"
    allowed = difference.allowed
    explained = f"roundings explain at most {allowed:.3g} there" if allowed else "nothing was folded"
    return f"their {what} differ by up to {difference.largest:.3g}, and {explained}"


def _may_be_swapped(term: Term) -> bool:
    """Whether the operands may change places over the reals."""
    stated = operator_facts(term.operator, term.domain)
    return stated.commutative or stated.commutative_numbers


def _may_be_regrouped(term: Term) -> bool:
    """Whether operands of several nodes of the operator have no order and no brackets over the reals."""
    stated = operator_facts(term.operator, term.domain)
    return stated.associative and stated.elementwise and _may_be_swapped(term) and not broadcasts_along_axis(term)


def _is_finite(leaf: Term) -> bool:
    """Whether a term varies, or is a constant of finite numbers."""
    return leaf.array is None or leaf.is_discrete or bool(np.isfinite(leaf.array.astype(np.float64)).all())


def _are_alike(first: Term, second: Term) -> bool:
    """Whether one operator with one key gives both terms, so that they are likely to match."""
    return (first.operator, first.domain, first.key) == (second.operator, second.domain, second.key)


def _is_continuous(term: Term) -> bool:
    """Whether the result changes little where a floating-point operand changes little; others may jump.  An integer or
    a truth value that is computed from floats jumps, also as one of several outputs (the indices of TopK), and so may a
    result whose type is not known.
    """
    if term.operator in OWN and not term.domain:
        return True
    return (
        operator_facts(term.operator, term.domain).continuous and term.facts.type in ELEMENTS and not term.is_discrete
    )


def may_jump(term: Term) -> bool:
    """Whether an operator computes a term of floating-point values that vary, and may jump."""
    reads = any(operand is not None and operand.is_float and not operand.is_constant for operand in term.inputs)
    return reads and not _is_continuous(term)


def _name(term: Term) -> str:
    """The name of a term in a mismatch."""
    if term.operator in ("declared", "unknown"):
        return f"a value of {term.origin}, of which nothing is known" if term.origin else "a value that no node gives"
    named = {"moved": "a movement of elements", "constant": "a constant", "input": "an input"}
    return named.get(term.operator, term.operator)
