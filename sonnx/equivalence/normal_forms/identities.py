"""Calls that give one of their operands back: neutral operands, operators that undo themselves, operands that repeat.

Each of these identities keeps every bit.  An operation on floats that computes gives the quiet NaN for every NaN, so
neither a product with 1 nor the negation of a negation of floats stands here: they are equal over the reals only.
`tests/equivalence/test_identities.py` runs both sides on special values.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from sonnx.equivalence.terms.movements import broadcast_places, moved
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import EVERY_OPERATOR, TermCall, normal_form_of
from sonnx.numerics.formats import TEXT, Array, format_of

CLIP_INPUTS_SINCE = 11
"""The operator set from which on a bound of Clip that is left out does not limit: before, it is the largest number."""


@normal_form_of(EVERY_OPERATOR, any_shape=True)
def applied_twice(store: Store, call: TermCall) -> list[Term] | None:
    """An operator of its own output: the output, or what it was applied to (`twice` of an operator)."""
    if call.stated.twice is None or len(call.operands) != 1 or len(call.outputs) != 1:
        return None
    [operand] = call.operands
    if operand is None or operand.operator != call.operator or operand.domain or operand.key != call.key:
        return None
    if call.stated.twice == "same":
        store.rest_on("same-operand")
        return [operand]
    source = operand.inputs[0]
    if source is None or source.facts.type != operand.facts.type or not source.is_discrete:
        return None
    store.rest_on("same-operand")
    return [source]


@normal_form_of("Abs", any_shape=True)
def without_sign(store: Store, call: TermCall) -> TermCall | None:
    """The absolute value of a negated number."""
    operand = call.operands[0] if call.operands else None
    if operand is None or operand.operator != "Neg" or operand.domain or operand.inputs[0] is None:
        return None
    store.rest_on("same-operand")
    return replace(call, operands=operand.inputs)


@normal_form_of("And", "Or", any_shape=True)
@normal_form_of("Max", "Min", any_shape=True)
def of_equals(store: Store, call: TermCall) -> list[Term] | None:
    """A conjunction, a disjunction, a maximum or a minimum of a value and itself."""
    if len(set(call.operands)) != 1 or call.operands[0] is None or call.is_along_axis:
        return None
    store.rest_on("same-operand")
    return [call.operands[0]]


@normal_form_of("Where")
def of_equal_choices(store: Store, call: TermCall) -> list[Term] | None:
    """The choice between a value and itself."""
    if len(call.operands) != 3 or call.operands[1] is not call.operands[2]:
        return None
    return _operand(store, call, call.operands[1])


@normal_form_of("Where")
def of_constant_condition(store: Store, call: TermCall) -> list[Term] | None:
    """The choice by constant truth values: a movement of elements of both values."""
    if len(call.operands) != 3 or None in call.operands or call.shape is None:
        return None
    condition, *values = [operand for operand in call.operands if operand is not None]
    chosen, places = broadcast_places(condition, call.shape), [broadcast_places(term, call.shape) for term in values]
    if condition.array is None or chosen is None or places[0] is None or places[1] is None:
        return None
    from_second = places[1] + prod(values[0].shape or ())
    return [moved(store, values, np.where(condition.array.reshape(-1)[chosen], places[0], from_second), call.shape)]


@normal_form_of("Where", any_shape=True)
def of_negated_condition(store: Store, call: TermCall) -> TermCall | None:
    """The choice by a negated truth value."""
    condition = call.operands[0] if len(call.operands) == 3 else None
    if condition is None or condition.operator != "Not" or condition.domain or condition.inputs[0] is None:
        return None
    store.rest_on("same-operand")
    return replace(call, operands=(condition.inputs[0], call.operands[2], call.operands[1]))


@normal_form_of("Xor")
@normal_form_of("Add", "Sub", "Or")
def without_zero(store: Store, call: TermCall) -> list[Term] | None:
    """A sum of integers with 0, a difference, a disjunction with false."""
    return _without(store, call, 0, second_only=call.operator == "Sub")


@normal_form_of("Mul", "Div", "And")
def without_one(store: Store, call: TermCall) -> list[Term] | None:
    """A product of integers with 1, a quotient by 1, a conjunction with true."""
    return _without(store, call, 1, second_only=call.operator == "Div")


@normal_form_of("Min")
def without_greatest(store: Store, call: TermCall) -> list[Term] | None:
    """The minimum of a value and the greatest number of its type; NaN is greater, so none is below it."""
    if len(call.operands) != 2:
        return None
    for operand, number in (call.operands, reversed(call.operands)):
        array = None if number is None else number.array
        if array is None or operand is None or operand.is_float or array.dtype.kind not in "iu":
            continue
        if bool((array == np.iinfo(array.dtype).max).all()):
            return _operand(store, call, operand)
    return None


@normal_form_of("Clip", any_shape=True)
def without_bounds(store: Store, call: TermCall) -> TermCall | list[Term] | None:
    """Clip without the bounds that no number is beyond: the infinities, or the limits of the integers; its operand
    where no bound is left.
    """
    if not call.operands or call.application is None or (call.operator_set or 0) < CLIP_INPUTS_SINCE:
        return None
    first, low, high = (*call.operands, None, None)[:3]
    names = call.application.names
    in_key = any(
        names.get(f"given({letter})") and bound is None for letter, bound in zip("LM", (low, high), strict=True)
    )
    if first is None or in_key or first.facts.type != call.outputs[0].type:
        return None
    left = [
        None if bound is None or _is_beyond_all(bound.array, is_low=is_low) else bound
        for bound, is_low in ((low, True), (high, False))
    ]
    if left == [None, None]:
        store.rest_on("same-operand")
        return [first]
    if left == [low, high]:
        return None
    store.rest_on("same-operand")
    given = {f"given({letter})": bound is not None for letter, bound in zip("LM", left, strict=True)}
    operands = (first, *left) if left[1] is not None else (first, left[0])
    return replace(call, operands=operands, application=replace(call.application, names={**names, **given}))


@normal_form_of("Clip", any_shape=True)
def without_one_bound(store: Store, call: TermCall) -> TermCall | None:
    """Clip with one bound that no number is beyond: as without it."""
    if len(call.operands) != 3 or (call.operator_set or 0) < CLIP_INPUTS_SINCE:
        return None
    first, low, high = call.operands
    if high is not None and low is not None and _is_beyond_all(high.array, is_low=False):
        store.rest_on("same-operand")
        return replace(call, operands=(first, low))
    if low is not None and high is not None and _is_beyond_all(low.array, is_low=True):
        store.rest_on("same-operand")
        return replace(call, operands=(first, None, high))
    return None


def _is_beyond_all(array: Array | None, *, is_low: bool) -> bool:
    if array is None or array.dtype == TEXT:
        return False
    if format_of(array.dtype) is not None:
        return bool((array.astype(np.float64) == (-np.inf if is_low else np.inf)).all())
    if array.dtype.kind not in "iu":
        return False
    limits = np.iinfo(array.dtype)
    return bool((array == (limits.min if is_low else limits.max)).all())


def _without(store: Store, call: TermCall, neutral: int, *, second_only: bool) -> list[Term] | None:
    """The operand of two of which the other one is a neutral constant."""
    if len(call.operands) != 2 or call.is_along_axis:
        return None
    first, second = call.operands
    for operand, constant in ((first, second),) if second_only else ((first, second), (second, first)):
        if operand is not None and constant is not None and _is_everywhere(constant.array, neutral):
            return _operand(store, call, operand)
    return None


def _is_everywhere(array: Array | None, neutral: int) -> bool:
    """Whether every element of a constant is an integer, or the truth value of that number."""
    return array is not None and bool(array.size) and array.dtype.kind in "iub" and bool((array == neutral).all())


def _operand(store: Store, call: TermCall, operand: Term | None) -> list[Term] | None:
    """An operand in the shape of the result; None where the types differ."""
    if operand is None or call.shape is None or operand.facts.type != call.outputs[0].type:
        return None
    if operand.shape == call.shape:
        store.rest_on("same-operand")
        return [operand]
    places = broadcast_places(operand, call.shape)
    if places is None:
        return None
    store.rest_on("same-operand")
    return [moved(store, [operand], places, call.shape)]
