"""Operators on elements: a movement of the operands becomes a movement of the result.

f(moved x, moved y) is moved f(x, y), because f reads the elements at one index only; so an operator and a movement
give one term in either order.  For that the operands take one form: an operand that is broadcast is written out, one
whose elements are all one element is that scalar, and a constant loses the axes along which it is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from sonnx.base.errors import Stop
from sonnx.equivalence import affine, movements
from sonnx.equivalence.movements import MAX_ELEMENTS, collapsed, moved, size
from sonnx.equivalence.term_calls import TermCall, normal_form_of, simplified
from sonnx.equivalence.terms import Store, Term
from sonnx.language.evaluator import RUN_TIME
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, NoValue
from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.numerics.formats import TEXT, Array, format_of
from sonnx.operators import StatedOperator, find_operator, operator_facts

SQUARE = ("square",)
"""The key of a Mul of an operand with itself, which has it once."""

MAX_JOINED = 256
"""Values that a movement joins, up to which an operator of several operands is applied to each of them."""


def reads_single_elements(operator: str, domain: str) -> bool:
    """Whether an operator, as a term names it, is one on elements."""
    stated = operator_facts(operator, domain)
    return stated.elementwise or stated.elementwise_with_scalars


def is_elementwise(call: TermCall) -> bool:
    """Whether a call of known shapes is one function of the elements at each index, after broadcasting."""
    operands = [operand for operand in call.operands if operand is not None]
    if len(call.outputs) != 1 or call.shape is None or any(operand.shape is None for operand in operands):
        return False
    if call.stated.elementwise_with_scalars:
        return all(size(operand) == 1 for operand in operands[1:])
    if not call.stated.elementwise or is_along_axis(call.stated, call.written_names):
        return False
    alike = all(operand.shape == call.shape for operand in operands)
    return alike or call.operator_set is None or call.stated.elementwise_at(call.operator_set)


def is_along_axis(stated: StatedOperator, written: Sequence[str]) -> bool:
    """Whether attributes say that the second operand is broadcast along an axis, as before operator set 7."""
    return stated.axis_broadcasting and any(name in AXIS_ATTRIBUTES for name in written)


def term_of(store: Store, call: TermCall) -> Term:
    """The output of an elementwise call, in its normal form."""
    simpler = simplified(store, call)
    if isinstance(simpler, list):
        return simpler[0]
    shape = simpler.shape
    assert shape is not None  # noqa: S101  see is_elementwise
    if prod(shape) > MAX_ELEMENTS or 0 in shape:
        return _above_movements(store, simpler, shape)
    operands = [None if operand is None else _in_shape(store, operand, shape) for operand in simpler.operands]
    if operands.count(None) > simpler.operands.count(None):  # an operand does not broadcast: the call is not valid
        return _above_movements(store, simpler, shape)
    simpler = replace(simpler, operands=tuple(operands))
    term = _on_scalars(store, simpler, shape) or _below_a_movement(store, simpler, shape)
    if term is None:
        return _above_movements(store, simpler, shape)
    store.rest_on("pointwise")
    return term


def _above_movements(store: Store, call: TermCall, shape: tuple[int, ...]) -> Term:
    """The operator on the operands as they are; the key has the shape where no operand has it."""
    operands = [None if operand is None else _without_constant_axes(store, operand) for operand in call.operands]
    has_shape = any(operand is not None and operand.shape == shape and not operand.is_constant for operand in operands)
    key = call.key if has_shape else (call.key, shape)
    [term] = with_sorted_operands(store, replace(call, key=key, operands=tuple(operands))).terms(store)
    return term


def with_sorted_operands(store: Store, call: TermCall) -> TermCall:
    """A call with operands that may change places in the order of their numbers."""
    if not call.stated.commutative or None in call.operands or is_along_axis(call.stated, call.written_names):
        return call
    operands = tuple(
        sorted((operand for operand in call.operands if operand is not None), key=lambda term: term.number)
    )
    if operands == call.operands:
        return call
    store.rest_on("commutative")
    return replace(call, operands=operands)


# ------------------------------------------------------------------ one form of the operands


def _in_shape(store: Store, operand: Term, shape: tuple[int, ...]) -> Term | None:
    """An operand as a constant without axes along which it is constant, as a scalar, or in the shape of the result;
    None where it does not broadcast to that.
    """
    if operand.is_constant:
        return _without_constant_axes(store, operand)
    if prod(shape) == 1:
        return moved(store, [operand], None, shape)
    if size(operand) == 1:
        return moved(store, [operand], None, ())
    if operand.shape != shape:
        places = movements.broadcast_places(operand, shape)
        if places is None:
            return None
        operand = moved(store, [operand], places, shape)
    places = operand.places if operand.operator == "moved" else None
    if places is None or len(operand.inputs) != 1 or (places != places[0]).any():
        return operand
    [source] = operand.inputs
    return operand if source is None else moved(store, [source], places[:1], ())


def _without_constant_axes(store: Store, operand: Term) -> Term:
    """A constant operand without the axes along which its elements are equal, bit for bit."""
    array = operand.array
    if array is None or array.dtype == TEXT or array.size == 0:
        return operand
    smaller = collapsed(array)
    if smaller.shape == array.shape:
        return operand
    store.rest_on("constant-axes")
    return movements.constant_of(store, smaller)


# ------------------------------------------------------------------ movements of the operands


class _Movement(NamedTuple):
    """The movement that operands share: the sources of each operand, in one order, and the place of each element in
    the sources one after the other; None for elements in order.
    """

    sources: dict[Term, tuple[Term, ...]]
    places: Array | None

    @property
    def width(self) -> int:
        """The number of sources of each operand."""
        return len(next(iter(self.sources.values())))


def _on_scalars(store: Store, call: TermCall, shape: tuple[int, ...]) -> Term | None:
    """The operator on scalars, repeated to the shape of the result; None where an operand has more elements."""
    operands = [operand for operand in call.operands if operand is not None]
    if shape == () or all(operand.is_constant for operand in operands):
        return None
    if any(operand.shape != () for operand in operands):
        return None
    return moved(store, [_of_shape(store, call, call.operands, ())], np.zeros(prod(shape), np.int32), shape)


def _below_a_movement(store: Store, call: TermCall, shape: tuple[int, ...]) -> Term | None:
    """The movement of the result of the operator on what the operands are moved from; None where they do not share a
    movement.
    """
    varying = [
        operand for operand in call.operands if operand is not None and not operand.is_constant
        and operand.shape == shape
    ]  # fmt: skip
    if not varying:
        return None
    constants = [operand for operand in call.operands if operand is not None and operand.is_constant]
    movement = _shared_movement(varying)
    spread = any(operand.shape != () for operand in constants)
    if movement is None or (spread and not (_is_bijective(movement) and _may_divide(call, movement))):
        return _below_a_permutation(store, call, varying, shape)
    return _on_sources(store, call, movement, shape)


def _may_divide(call: TermCall, movement: _Movement) -> bool:
    """Whether constants are divided among the values that a movement joins: not where the affine form reads them."""
    return movement.width == 1 or not affine.has_form(call.operator)


def _shared_movement(operands: Sequence[Term]) -> _Movement | None:
    """The one movement of all operands, None where they are not moved, or not alike."""
    if any(operand.operator != "moved" for operand in operands):
        return None
    different = list(dict.fromkeys(operands))
    if len(different) == 1:
        sources = tuple([source for source in different[0].inputs if source is not None])
        return _Movement({different[0]: sources}, different[0].places)
    if max(len(operand.inputs) for operand in different) > MAX_JOINED:
        return None
    ordered = {operand: movements.in_order_of_use(operand) for operand in different}
    (first, places), *others = ordered.values()
    for further, their_places in others:
        if [*map(size, further)] != [*map(size, first)] or not movements.are_equal(places, their_places):
            return None
    return _Movement({operand: tuple(sources) for operand, (sources, _) in ordered.items()}, places)


def _is_bijective(movement: _Movement) -> bool:
    """Whether the result has each element of the sources once."""
    total = sum(map(size, next(iter(movement.sources.values()))))
    return movement.places is None or movements.is_permutation(movement.places, total)


def _on_sources(store: Store, call: TermCall, movement: _Movement, shape: tuple[int, ...]) -> Term | None:
    """The movement of the results on each of the sources; None where the result on constants is not known."""
    order = None if movement.places is None else np.argsort(movement.places, kind="stable")
    start, results = 0, []
    for index in range(movement.width):
        sources = {operand: listed[index] for operand, listed in movement.sources.items()}
        source = min(sources.values(), key=lambda term: term.number)
        extents = source.shape or ()
        operands: list[Term | None] = []
        for operand in call.operands:
            if operand in sources:
                operands.append(moved(store, [sources[operand]], None, extents))
            elif operand is None or not operand.is_constant or operand.shape == ():
                operands.append(operand)
            else:
                places = movements.broadcast_places(operand, shape)
                if places is None:
                    return None
                part = places if order is None else places[order[start : start + size(source)]]
                operands.append(moved(store, [operand], part, extents))
        varies = any(operand is not None and not operand.is_constant for operand in operands)
        result = _of_shape(store, call, operands, extents) if varies else _computed(store, call, operands)
        if result is None:
            return None
        results.append(result)
        start += size(source)
    return moved(store, results, movement.places, shape)


def _below_a_permutation(store: Store, call: TermCall, varying: Sequence[Term], shape: tuple[int, ...]) -> Term | None:
    """The permutation of the result of the operator on what one operand is permuted from; the others are moved back.

    Of several operands the one is taken whose source has the least number, so that the form is one and the same.
    """
    chosen = min(varying, key=_base)
    source = chosen.inputs[0] if _is_permuted(chosen) else None
    if source is None or source.shape is None:
        return None
    back = None if chosen.places is None else np.argsort(chosen.places, kind="stable").astype(np.int32)
    operands: list[Term | None] = []
    for operand in call.operands:
        if operand is None or operand.shape == ():
            operands.append(source if operand is chosen else operand)
            continue
        places = movements.broadcast_places(operand, shape)
        if places is None:
            return None
        operands.append(moved(store, [operand], places if back is None else places[back], source.shape))
    return moved(store, [_of_shape(store, call, operands, source.shape)], chosen.places, shape)


def _base(operand: Term) -> tuple[int, int]:
    source = operand.inputs[0] if _is_permuted(operand) else None
    return (operand.number if source is None else source.number), operand.number


def _is_permuted(operand: Term) -> bool:
    """Whether an operand has each element of one source once, in another order or shape."""
    if operand.operator != "moved" or len(operand.inputs) != 1 or operand.inputs[0] is None:
        return False
    return operand.places is None or movements.is_permutation(operand.places, size(operand.inputs[0]))


def _of_shape(store: Store, call: TermCall, operands: Sequence[Term | None], shape: Sequence[int]) -> Term:
    """The operator on other operands, with a result of this shape."""
    facts = call.outputs[0]._replace(shape=movements.known_extents(shape), values=RUN_TIME)
    return term_of(store, replace(call, operands=tuple(operands), outputs=(facts,)))


def _computed(store: Store, call: TermCall, operands: Sequence[Term | None]) -> Term | None:
    """The operator on constants, None where the executor has no value for them."""
    operator = find_operator(call.operator)
    if operator is None or call.application is None:
        return None
    arrays = [None if operand is None else operand.array for operand in operands]
    try:
        [array] = operator.define(call.application, arrays * 2 if call.key == SQUARE else arrays)
    except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
        return None
    return movements.constant_of(store, np.array(array))


# ------------------------------------------------------------------ single operators


@normal_form_of("Mul", "Pow")
def as_square(store: Store, call: TermCall) -> TermCall | None:
    """The product of floating-point numbers with themselves, which one rounding makes, as a Mul with one operand."""
    if len(call.operands) != 2 or call.shape is None or is_along_axis(call.stated, call.written_names):
        return None
    first, second = call.operands
    if first is None or second is None or not first.is_float or first.shape != call.shape:
        return None
    if call.operator == "Mul":
        is_square = first is second
    else:
        exponent = second.array
        is_square = exponent is not None and exponent.dtype != TEXT and bool((exponent.astype(np.float64) == 2).all())
    if not is_square:
        return None
    store.rest_on("square")
    return replace(call, operator="Mul", key=SQUARE, operands=(first,))


@normal_form_of("Max")
def without_repeated_operand(store: Store, call: TermCall) -> list[Term] | None:
    """The operand of a Max that has the other one, too: max(max(a, b), b), and max(a, max(a, b)), where the maximum of
    several NaNs is still the first.
    """
    if len(call.operands) != 2 or call.shape is None:
        return None
    first, second = call.operands
    if first is None or second is None:
        return None
    if first.shape == call.shape and any(maximum is second for maximum in _maxima(first)):
        maximum = first
    elif second.shape == call.shape and first in _first_operands(second):
        maximum = second
    else:
        return None
    store.rest_on("repeated-maximum")
    return [maximum]


def _maxima(term: Term) -> list[Term]:
    """The terms that a term is the maximum of, from left to right, and the maxima of some of them; the term itself
    where it is not a maximum.
    """
    maxima, waiting = [], [term]
    while waiting:
        maximum = waiting.pop()
        is_max = maximum.operator == "Max" and not maximum.domain and maximum.shape == term.shape
        if is_max:
            waiting += reversed([part for part in maximum.inputs if part is not None])
        maxima.append(maximum)
    return maxima


def _first_operands(term: Term) -> list[Term]:
    """The first operand of a Max, the first operand of that one, and so on."""
    terms = [term]
    while (last := terms[-1]).operator == "Max" and not last.domain and last.shape == term.shape and last.inputs[0]:
        terms.append(last.inputs[0])
    return terms


@normal_form_of("Max")
def without_least_operand(store: Store, call: TermCall) -> list[Term] | None:
    """Max with the least number of the type, which only broadcasts: no number and no NaN is below it."""
    if len(call.operands) != 2 or call.shape is None or prod(call.shape) > MAX_ELEMENTS:
        return None
    for operand, least in (call.operands, reversed(call.operands)):
        if operand is not None and operand.shape is not None and least is not None and _is_least(least.array):
            places = movements.broadcast_places(operand, call.shape)
            if places is None:
                return None
            store.rest_on("least-maximum")
            return [moved(store, [operand], places, call.shape)]
    return None


def _is_least(array: Array | None) -> bool:
    """Whether every element is the least number of an element type: -Inf, or the least integer."""
    if array is None:
        return False
    if format_of(array.dtype) is not None:
        return bool((array.astype(np.float64) == -np.inf).all())
    return array.dtype.kind in "iu" and bool((array == np.iinfo(array.dtype).min).all())


@normal_form_of("Equal")
def of_truths(store: Store, call: TermCall) -> TermCall | None:
    """Equal of the numbers 0 and 1 that stand for truth values, as Equal of these."""
    truths = [None if operand is None else _truths(store, operand) for operand in call.operands]
    given = [operand for operand in truths if operand is not None]
    if len(given) < len(call.operands) or all(operand.is_constant for operand in given):
        return None
    store.rest_on("choices")
    return replace(call, operands=tuple(given))


def _truths(store: Store, number: Term) -> Term | None:
    """The truth values that Cast converted to numbers, moved as these are, or those that constants 0 and 1 stand for;
    else None.
    """
    if number.operator == "Cast" and not number.domain:
        source = number.inputs[0]
        return source if source is not None and source.facts.type == "bool" and source.shape == number.shape else None
    if number.operator == "moved" and number.shape is not None:
        sources = movements.sources_of(number)
        truths = [operand for source in sources if (operand := _truths(store, source)) is not None]
        return moved(store, truths, number.places, number.shape) if len(truths) == len(sources) else None
    array = number.array
    if array is None or (format_of(array.dtype) is None and array.dtype.kind not in "iu"):
        return None
    is_one = array == 1
    return movements.constant_of(store, np.asarray(is_one)) if bool((is_one | (array == 0)).all()) else None
