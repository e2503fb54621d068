"""Conversions of precision: models compared as if every number had the digits of the wider model.

A store with `Narrowings` takes values of float16 and bfloat16 as values of float, leaves out conversions between these
types, and takes QuantizeLinear followed by DequantizeLinear with one scale as the value itself (`narrowed`).  A number
of a narrower constant stands for every number that its type rounds to it: the wider one is one of them, or the
models do not match.  What was left out is listed: the models are equal *but for these narrowings*, not equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import NotExecutable
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.narrowed_numbers import DIGITS, SLACK, WIDE, Narrowed, Passage
from sonnx.equivalence.terms.store import Store, Term
from sonnx.graph.call import Call
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Model
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors
from sonnx.model.writer import element_number
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.formats import ELEMENTS, Array, is_integer, limits_of
from sonnx.operators.quantizelinear import spread_along

FOLDED = 2.0**-20
"""What folds in float add to a constant of integers, relative to it, where a quantum is small beside it."""

NARROW_NUMBERS = frozenset(map(element_number, DIGITS))
"""ONNX's numbers of the narrower types."""

QUANTIZING = ("Quantize", "Dequantize", "QLinear", "NBits")
"""Parts of the names of operators that narrow values."""

DOMAINS = frozenset({"", "com.microsoft"})
"""The domains that have QuantizeLinear and DequantizeLinear."""


def are_narrowed(*models: Model) -> bool:
    """Whether a value of any of the models may be narrowed."""
    return any(map(_is_narrowed, models))


def _is_narrowed(model: Model) -> bool:
    types = [value.type for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.value_info)]
    if any(type_.element in DIGITS for type_ in types):
        return True
    if any(tensor.element in DIGITS for tensor in stored_tensors(model)):
        return True
    for node in (node for scope in scopes(model) for node in scope.graph.nodes):
        if any(word in node.operator for word in QUANTIZING) or node.operator.endswith("Integer"):
            return True
        if any(attribute.name == "to" and attribute.value in NARROW_NUMBERS for attribute in node.attributes):
            return True
    return False


def widened(facts: TensorFacts) -> TensorFacts:
    """Facts with the wider type in the place of a narrower one."""
    return facts._replace(type=WIDE) if facts.type in DIGITS else facts


def constant_of_model(store: Store, array: Array) -> Term:
    """The term of a constant of a model; of a narrower type with the wider type, where these are taken as one."""
    element = next((name for name in DIGITS if array.dtype == ELEMENTS[name]), None)
    if store.narrowings is None or element is None:
        return movements.constant_of(store, array)
    return movements.constant_of(store, array.astype(ELEMENTS[WIDE]), Narrowed(element))


# ------------------------------------------------------------------ calls that are left out


def without_narrowing(store: Store, call: Call, inputs: Sequence[Term | None]) -> Call | list[Term] | None:
    """What stands for a call that narrows or widens: a call with the wider type, or the terms of its outputs; None for
    any other call.
    """
    if canonical_domain(call.domain) not in DOMAINS or call.calls_function or not inputs or inputs[0] is None:
        return None
    if call.operator == "Cast" and not canonical_domain(call.domain):
        return _cast(call, inputs[0])
    if call.operator == "DequantizeLinear" and len(call.outputs) == 1:
        found = _dequantized(store, call, inputs)
        return None if found is None else [found]
    return None


def _cast(call: Call, operand: Term) -> Call | list[Term] | None:
    wide = element_number(WIDE)
    to = next((attribute for attribute in call.attributes if attribute.name == "to"), None)
    if to is None or (to.value not in NARROW_NUMBERS and to.value != wide):
        return None
    if operand.facts.type == WIDE:
        return [operand]
    if to.value == wide:
        return None
    others = [attribute for attribute in call.attributes if attribute.name not in ("to", "saturate")]
    return replace(call, attributes=(*others, replace(to, value=wide)))


def _dequantized(store: Store, call: Call, inputs: Sequence[Term | None]) -> Term | None:
    """The value that DequantizeLinear gives of a constant, or of what QuantizeLinear made with the same scale."""
    source, scale, zero = (*inputs, None, None)[:3]
    if source is None or scale is None or scale.array is None or (zero is not None and zero.array is None):
        return None
    attributes = {attribute.name: attribute.value for attribute in call.attributes}
    if source.array is not None:
        axis, block = attributes.get("axis", 1), attributes.get("block_size", 0)
        return narrowed_constant(store, source.array, scale.array, None if zero is None else zero.array, axis, block)
    return _passed(store, source, scale, zero)


def narrowed_constant(
    store: Store, codes: Array, scale: Array | None, zero: Array | None, axis: Any, block: Any
) -> Term | None:
    """The numbers that constant integers stand for, with how far a number may be that was rounded to each."""
    if type(axis) is not int or type(block) is not int or not is_integer(codes.dtype):
        return None
    if store.narrowings is None or scale is None:
        return None
    element = facts_of_array(codes).type
    try:
        whole = codes.astype(np.int64)
        quanta = spread_along(whole.shape, scale.astype(np.float64), axis, block)
        shift = 0 if zero is None else spread_along(whole.shape, zero, axis, block).astype(np.int64)
    except (TypeError, ValueError, NotExecutable):
        return None
    numbers = ((whole - shift) * quanta).astype(np.float32)
    least, most = limits_of(codes.dtype)
    saturated = (whole == int(least)) | (whole == int(most))
    radii = np.where(saturated, quanta, quanta / 2) * SLACK + FOLDED * np.abs(numbers)
    own_radii = radii.astype(np.float32) * np.float32(1 + 2.0**-20)
    return movements.constant_of(store, numbers, Narrowed(str(element), own_radii, float(quanta.max(initial=0))))


def _passed(store: Store, source: Term, scale: Term, zero: Term | None) -> Term | None:
    """The value that was quantized with this scale and then only moved, as `narrowed`."""
    while source.operator == "ideal" and source.inputs[0] is not None:
        source = source.inputs[0]
    if source.operator == "moved" and source.shape is not None:
        parts = [operand and _passed(store, operand, scale, zero) for operand in source.inputs]
        known = [part for part in parts if part is not None]
        return movements.moved(store, known, source.places, source.shape) if len(known) == len(parts) else None
    if source.operator == "MaxPool" and not source.domain and source.shape is not None and source.inputs[0] is not None:
        passed = (
            _passed(store, source.inputs[0], scale, zero) if scale.array is not None and scale.array.size == 1 else None
        )
        if passed is None:
            return None
        store.rest_on("pooled-integers")
        facts = movements.shaped(WIDE, source.shape)
        return store.applied("MaxPool", source.key, [passed], 0, facts, application=source.application)
    if source.operator != "QuantizeLinear" or source.domain not in DOMAINS or source.inputs[0] is None:
        return None
    written = (*source.inputs[1:], None, None)[:2]
    passage = _passage(source, scale, zero)
    if passage is None or written[0] is not scale or not _are_one(written[1], zero):
        return None
    store.rest_on("passage")
    return store.narrowed(source.inputs[0], passage)


def _are_one(first: Term | None, second: Term | None) -> bool:
    """Whether two zero points are equal; an omitted one is 0."""
    if first is second:
        return True
    present = first if second is None else second
    return (
        (first is None or second is None)
        and present is not None
        and present.array is not None
        and not (present.array.any())
    )


def _passage(quantized: Term, scale: Term, zero: Term | None) -> Passage | None:
    element = str(quantized.facts.type)
    kind = ELEMENTS.get(element)
    if scale.array is None or kind is None or kind.kind not in "iu" or (zero is not None and zero.array is None):
        return None
    scales = scale.array.astype(np.float64)
    shift = np.zeros(()) if zero is None or zero.array is None else zero.array.astype(np.float64)
    if not (np.isfinite(scales) & (scales > 0)).all():
        return None
    limits = np.iinfo(kind)
    low, high = (limits.min - shift) * scales, (limits.max - shift) * scales
    return Passage(element, float(scales.max()), float(low.max()), float(high.min()))


def below_narrowed(term: Term) -> tuple[Term, Passage] | None:
    """What a value was before it passed through integers, and how; None for any other term."""
    if term.operator != "narrowed" or term.inputs[0] is None or not isinstance(term.key, Passage):
        return None
    return term.inputs[0], term.key


def limited_operand(term: Term, passage: Passage) -> tuple[Term, tuple[float, float]] | None:
    """The operand of Relu or Clip and its limits, where integers keep every value within these; None where they do not.

    A value beyond a limit then becomes the same integer as the limit, which is an end of their range.
    """
    if term.domain or not term.inputs or term.inputs[0] is None:
        return None
    limits: tuple[float | None, float | None] = (0.0, np.inf) if term.operator == "Relu" else (None, None)
    if term.operator == "Clip" and term.application is not None and not any(term.inputs[1:]):
        least, most = (term.application.names.get(name) for name in ("min", "max"))
        limits = _number(least, -np.inf), _number(most, np.inf)
    low, high = limits
    if low is None or high is None or passage.low < low or passage.high > high * (1 + 2.0**-20):
        return None
    return term.inputs[0], (low, high)


def _number(stated: Any, absent: float) -> float | None:
    """The number of a limit; `absent` for one that is left out, None for one that is not known."""
    if stated is None:
        return absent
    try:
        return float(np.asarray(stated, np.float64).reshape(()))
    except (TypeError, ValueError):
        return None
