"""Normal forms of single operators on elements: squares, maxima, equal truth values."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.movements import MAX_ELEMENTS, moved
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import SQUARE, TermCall, normal_form_of
from sonnx.numerics.formats import TEXT, Array, format_of


@normal_form_of("Mul", "Pow")
def as_square(store: Store, call: TermCall) -> TermCall | None:
    """The product of floating-point numbers with themselves, which one rounding makes, as a Mul with one operand."""
    if len(call.operands) != 2 or call.shape is None or call.is_along_axis:
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
    truth_operands = [operand for operand in truths if operand is not None]
    if len(truth_operands) < len(call.operands) or all(operand.is_constant for operand in truth_operands):
        return None
    store.rest_on("choices")
    return replace(call, operands=tuple(truth_operands))


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
