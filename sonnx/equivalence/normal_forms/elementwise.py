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
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.affine_operators import has_form
from sonnx.equivalence.terms.movements import MAX_ELEMENTS, moved, size
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import SQUARE, TermCall, simplified
from sonnx.language.evaluator import RUN_TIME
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, NoValue
from sonnx.numerics.formats import TEXT, Array
from sonnx.operators import find_operator, operator_facts

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
    if not call.stated.elementwise or call.is_along_axis:
        return False
    alike = all(operand.shape == call.shape for operand in operands)
    return alike or call.operator_set is None or call.stated.elementwise_at(call.operator_set)


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
    if not call.stated.commutative or None in call.operands or call.is_along_axis:
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
    smaller = movements.collapsed_constant(store, operand)
    if smaller is not operand:
        store.rest_on("constant-axes")
    return smaller


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
    return movement.width == 1 or not has_form(call.operator)


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
