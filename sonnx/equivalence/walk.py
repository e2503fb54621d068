"""The product walk: which terms of two models are equal over the reals, up to rounded constants.

Two terms match where they are one term, where one operator with one key is applied to terms that match, or where their
affine forms have the same images of atoms that match, with weights and biases whose difference a fold explains.  A
match is not transitive where constants differ, so nothing is rewritten by it.  The walk remembers every pair.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import prod

import numpy as np

from sonnx.equivalence import constants, elementwise, quantization
from sonnx.equivalence.affine import Affine, AffinePart, Forms
from sonnx.equivalence.movements import MAX_ELEMENTS, are_equal, broadcast_places, in_order_of_use, moved, size
from sonnx.equivalence.terms import OWN, Store, Term
from sonnx.language.evaluator import Unknown
from sonnx.operators import facts_of, find_operator

MAX_PARTS = 6
"""Parts of an affine form whose assignments are tried."""

OUTPUT_AXES = {"conv": 0, "product": 1}
"""The axis of a weight whose index is that of the output."""

OVER_REALS = "operators without a definition here are functions of the real numbers in their inputs: {}"

Pair = tuple[Term, Term]
Steps = Generator[Pair, bool, bool]


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """A pair of matched terms between which constants were folded or rounded.

    On equal atoms x the ideal values differ by at most `gain` max |x| + `offset`.

    Attributes:
        one, other: the terms.
        gain: the largest sum of distances of the weights of one output element; 0 where the weights are equal.
        offset: the largest distance of the biases.
        weight: the largest distance of two weights.
        relative: the largest distance of two constants, relative to the largest of their array.
        roundings: the roundings that the fold may have had.
    """

    one: Term
    other: Term
    gain: float
    offset: float
    weight: float
    relative: float
    roundings: int

    @property
    def is_exact(self) -> bool:
        """Whether the constants are equal as real numbers."""
        return self.gain == 0 and self.offset == 0


@dataclass(frozen=True, eq=False, slots=True)
class Mismatch:
    """A pair of terms that could not be matched although what it is made of could; `reason` is half a sentence."""

    one: Term
    other: Term
    reason: str


@dataclass(eq=False)
class Walk:
    """Matches terms of two models.

    Attributes:
        cuts: the matched pairs whose constants were compared, by their terms.
        mismatches: the pairs that did not match by themselves.
        decisions: matched operators that may jump, on operands that are not identical.
        quanta: matched quantized values that roundings may move by one quantum.
    """

    store: Store
    cuts: dict[tuple[int, int], Cut] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    decisions: dict[tuple[int, int], Pair] = field(default_factory=dict)
    quanta: dict[tuple[int, int], Pair] = field(default_factory=dict)
    _known: dict[tuple[int, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forms = Forms(self.store)

    def matches(self, one: Term, other: Term) -> bool:
        """Whether two terms are equal over the reals, up to constants whose difference a fold explains."""
        stack: list[tuple[Pair, Steps]] = []
        answer = self._answered(one, other)
        if answer is None:
            stack.append(((one, other), self._compared(one, other)))
        sent: bool | None = None
        while stack:
            pair, steps = stack[-1]
            try:
                wanted = next(steps) if sent is None else steps.send(sent)
            except StopIteration as stop:
                stack.pop()
                sent = bool(stop.value)
                self._known[pair[0].number, pair[1].number] = sent
                answer = sent
                continue
            sent = self._answered(*wanted)
            if sent is None:
                stack.append((wanted, self._compared(*wanted)))
        return bool(answer)

    def _answered(self, one: Term, other: Term) -> bool | None:
        if one is other:
            return True
        return self._known.get((one.number, other.number))

    def _fails(self, one: Term, other: Term, reason: str) -> bool:
        self.mismatches.append(Mismatch(one, other, reason))
        return False

    def _compared(self, one: Term, other: Term) -> Steps:
        differing = _differing_facts(one, other)
        if differing:
            return self._fails(one, other, differing)
        if one.is_constant and other.is_constant:
            return self._fails(one, other, "two constants differ")
        if "input" in (one.operator, other.operator) and one.operator == other.operator:
            return self._fails(one, other, "two inputs differ")
        if not one.is_float and "ideal" in (one.operator, other.operator):
            return (yield from self._ideal(one, other))
        if one.is_float and other.is_float:
            first, second = self.forms.of(one), self.forms.of(other)
            atoms = first.is_atom(one) and second.is_atom(other)
            if not atoms and (yield from self._affine(one, other, first, second)):
                return True
        if (yield from self._reshaped(one, other)):
            return True
        if one.operator == other.operator == "QuantizeLinear" and not one.domain and not other.domain:
            return (yield from self._quantized(one, other))
        return (yield from self._direct(one, other))

    def _ideal(self, one: Term, other: Term) -> Steps:
        """Whether values match of which one is known over the reals only."""
        mine, its = _stated(one), _stated(other)
        if not (yield mine, its):
            return False
        if mine.operator == its.operator == "QuantizeLinear":
            self.quanta[mine.number, its.number] = mine, its
        elif mine is not its or find_operator(mine.operator) is None:
            self.decisions[mine.number, its.number] = mine, its
        return True

    def _quantized(self, one: Term, other: Term) -> Steps:
        """Whether values match that one scale and one zero point make; a Relu that the limit contains changes none."""
        mine, its = quantization.without_clipped_relu(one), quantization.without_clipped_relu(other)
        if one.key != other.key or one.inputs[1:] != other.inputs[1:]:
            return self._fails(one, other, "they are quantized in other ways")
        if mine is None or its is None or not (yield mine, its):
            return False
        self.quanta[one.number, other.number] = one, other
        return True

    # ------------------------------------------------------------------ one operator on matching operands

    def _direct(self, one: Term, other: Term) -> Steps:
        alike = (one.operator, one.domain, one.output, one.key) == (
            other.operator,
            other.domain,
            other.output,
            other.key,
        )
        if not alike or len(one.inputs) != len(other.inputs) or one.operator in ("input", "declared", "unknown"):
            what = "" if one.operator != other.operator else ", with other attributes or inputs"
            return self._fails(one, other, f"they are {_name(one)} and {_name(other)}{what}")
        mine_in_order: Sequence[Term | None] = one.inputs
        orders: Sequence[Sequence[Term | None]] = [other.inputs]
        if one.operator == "moved":
            (sources, places), (listed, its_places) = in_order_of_use(one), in_order_of_use(other)
            sizes = [[size(term) for term in every] for every in (sources, listed)]
            if not are_equal(places, its_places) or sizes[0] != sizes[1]:
                return self._fails(one, other, "their elements stand in other places")
            mine_in_order, listed = self._flat(sources, listed)
            if one in mine_in_order and other in listed:
                return self._fails(one, other, "they are shapes of values that are not comparable")
            orders = [listed]
        if _may_be_swapped(one) and len(other.inputs) == 2:
            orders = list(permutations(other.inputs))
        for order in orders:
            good = True
            for mine, its in zip(mine_in_order, order, strict=True):
                if mine is None or its is None:
                    good = mine is its
                else:
                    good = yield self._alike(mine, its, one)
                if not good:
                    break
            if good:
                self._note(one, other)
                return True
        return False

    def _alike(self, mine: Term, its: Term, result: Term) -> Pair:
        """A pair of operands; of an operator on elements, with the shape of the result where one is broadcast."""
        shape, broadcast = result.shape, elementwise.reads_single_elements(result.operator, result.domain)
        if not broadcast or mine.shape == its.shape or shape is None or prod(shape) > MAX_ELEMENTS:
            return mine, its
        lists = self._list(mine, shape), self._list(its, shape)
        if lists[0] is None or lists[1] is None:
            return mine, its
        return moved(self.store, [lists[0]], None, shape), moved(self.store, [lists[1]], None, shape)

    def _flat(self, sources: Sequence[Term], others: Sequence[Term]) -> tuple[list[Term], list[Term]]:
        """Sources of equal sizes, those of another shape than their partner as lists."""
        made: tuple[list[Term], list[Term]] = [], []
        for pair in zip(sources, others, strict=True):
            for term, listed in zip(pair, made, strict=True):
                flat = pair[0].shape != pair[1].shape
                listed.append(moved(self.store, [term], None, (size(term),)) if flat else term)
        return made

    def _note(self, one: Term, other: Term) -> None:
        varies = any(
            mine is not its and mine is not None and mine.is_float
            for mine, its in zip(one.inputs, other.inputs, strict=True)
        )
        if varies and not _is_continuous(one):
            self.decisions[one.number, other.number] = one, other
        if one.operator != "moved" and (one.domain or find_operator(one.operator) is None):
            name = f"{one.domain}.{one.operator}" if one.domain else one.operator
            self.store.assume(OVER_REALS.format(name))

    def _reshaped(self, one: Term, other: Term) -> Steps:
        """Whether one operator on elements makes both, of operands that match as lists, in other shapes."""
        mine, its = _unshaped(one), _unshaped(other)
        same = (mine.operator, mine.domain, mine.key) == (its.operator, its.domain, its.key)
        alike = same and elementwise.reads_single_elements(mine.operator, mine.domain)
        if (mine is one and its is other) or not alike or mine.shape is None or its.shape is None:
            return False
        if size(mine) != size(its) or len(mine.inputs) != len(its.inputs) or size(mine) > MAX_ELEMENTS:
            return False
        if mine.shape == its.shape:
            return (yield mine, its)
        shapes = mine.shape, its.shape
        lists = [
            [self._list(operand, shape) for operand in term.inputs]
            for term, shape in zip((mine, its), shapes, strict=True)
        ]
        if any(term is None for every in lists for term in every):
            return False
        orders = permutations(lists[1]) if _may_be_swapped(mine) else [tuple(lists[1])]
        for order in orders:
            good = True
            for first, second in zip(lists[0], order, strict=True):
                if first is None or second is None or not (yield first, second):
                    good = False
                    break
            if good:
                self._note(mine, its)
                return True
        return False

    def _list(self, operand: Term | None, shape: tuple[int, ...]) -> Term | None:
        """The elements of an operand that is broadcast to a shape, as a list."""
        if operand is None or operand.shape is None:
            return None
        if operand.shape == shape:
            return moved(self.store, [operand], None, (size(operand),))
        places = broadcast_places(operand, shape)  # none where the call violates a condition
        return None if places is None else moved(self.store, [operand], places, (places.size,))

    # ------------------------------------------------------------------ affine forms

    def _affine(self, one: Term, other: Term, first: Affine, second: Affine) -> Steps:
        if len(first.parts) != len(second.parts) or len(first.parts) > MAX_PARTS:
            return False
        order = yield from self._assigned(first.parts, second.parts)
        if order is None:
            return False
        element = str(one.facts.type)
        gain = weight = relative = 0.0
        roundings = 0
        for mine, its in zip(first.parts, order, strict=True):
            unit = constants.number(self.store, 1.0)
            axis = OUTPUT_AXES.get(mine.kind)
            constant_difference = constants.difference(
                mine.weight or unit, its.weight or unit, element, self.store, axis
            )
            if not constant_difference.explained:
                return self._fails(one, other, _unexplained("weights", constant_difference))
            gain += constant_difference.gain
            weight = max(weight, constant_difference.largest)
            relative = max(
                relative, constant_difference.largest / constant_difference.size if constant_difference.size else 0.0
            )
            roundings = max(roundings, *(real.roundings for real in (mine.weight, its.weight) if real is not None), 0)
        constant_difference = constants.difference(first.bias, second.bias, element, self.store)
        if not constant_difference.explained:
            return self._fails(one, other, _unexplained("biases", constant_difference))
        relative = max(
            relative, constant_difference.largest / constant_difference.size if constant_difference.size else 0.0
        )
        roundings = max(roundings, *(real.roundings for real in (first.bias, second.bias) if real is not None), 0)
        cut = Cut(one, other, gain, constant_difference.largest, weight, relative, roundings)
        self.cuts[one.number, other.number] = cut
        return True

    def _assigned(
        self, parts: Sequence[AffinePart], others: Sequence[AffinePart]
    ) -> Generator[Pair, bool, list[AffinePart] | None]:
        """The parts of the second form in the order of the first, each with an atom that matches."""
        left, chosen = list(others), dict[int, AffinePart]()
        for index, mine in enumerate(parts):
            same = next(
                (
                    affine_part
                    for affine_part in left
                    if _kind(affine_part) == _kind(mine) and affine_part.atom is mine.atom
                ),
                None,
            )
            if same is not None:
                chosen[index] = same
                left.remove(same)
        for index, mine in enumerate(parts):
            if index in chosen:
                continue
            for its in [affine_part for affine_part in left if _kind(affine_part) == _kind(mine)]:
                if (yield mine.atom, its.atom):
                    chosen[index] = its
                    left.remove(its)
                    break
            else:
                return None
        return [chosen[index] for index in range(len(parts))]


def _stated(term: Term) -> Term:
    """What a term is over the reals; the term itself where it is exact."""
    while term.operator == "ideal" and term.inputs[0] is not None:
        term = term.inputs[0]
    return term


def _unshaped(term: Term) -> Term:
    """What a term is another shape of; the term itself where it is none."""
    source = term.inputs[0] if term.operator == "moved" and term.places is None else None
    return term if source is None else source


def _kind(part: AffinePart) -> object:
    return part.kind, part.key


def _unexplained(what: str, found: constants.ConstantDifference) -> str:
    if np.isinf(found.size):
        return f"their {what} may overflow"
    if not np.isfinite(found.largest):
        return f"their {what} are not comparable"
    allowed = f"roundings explain at most {found.allowed:.3g} there" if found.allowed else "nothing was folded"
    return f"their {what} differ by up to {found.largest:.3g}, and {allowed}"


def _may_be_swapped(term: Term) -> bool:
    """Whether the operands may change places over the reals."""
    stated = facts_of(term.operator, term.domain)
    return stated.commutative or stated.commutative_numbers


def _is_continuous(term: Term) -> bool:
    """Whether the result changes little where a floating-point operand changes little; others may jump."""
    is_term = term.operator in OWN and not term.domain
    return is_term or facts_of(term.operator, term.domain).continuous


def _differing_facts(first: Term, second: Term) -> str:
    """How types or shapes differ, "" where they do not or are not known."""
    types, shapes = (first.facts.type, second.facts.type), (first.shape, second.shape)
    if types[0] != types[1] and not any(isinstance(element, Unknown) for element in types):
        return f"their types differ: {types[0]} and {types[1]}"
    if None not in shapes and shapes[0] != shapes[1]:
        return f"their shapes differ: {list(shapes[0] or ())} and {list(shapes[1] or ())}"
    return ""


def _name(term: Term) -> str:
    if term.operator == "moved":
        return "a movement of elements"
    if term.operator == "constant":
        return "a constant"
    return "an input" if term.operator == "input" else term.operator
