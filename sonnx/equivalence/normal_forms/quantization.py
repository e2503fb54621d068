"""Quantized values: forms of QuantizeLinear and DequantizeLinear, and how far rounding reaches in a quantized value.

A model that computes in floating point between DequantizeLinear and QuantizeLinear, and one that computes in integers,
have the same ideal quotient before it is rounded to a whole number.  Roundings on the way there move it by at most
`reach` quanta; while that is less than one half, the results differ by at most one quantum, and only where the ideal
quotient is no further than that from the middle between two whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonnx.base.errors import Stop
from sonnx.equivalence.normal_forms import elementwise
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.keys import with_parameter
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, normal_form_of
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators import find_operator

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
"""Element types whose numbers are all tried."""


def has_one_scale(operands: Sequence[Term | None]) -> bool:
    """Whether scale and zero point of an operand are constants of one element."""
    return all(operand is None or (operand.array is not None and operand.array.size == 1) for operand in operands[1:])


@normal_form_of("DequantizeLinear", "QuantizeLinear")
def without_axis(store: Store, call: TermCall) -> TermCall | None:
    """A call without the axis, which means nothing where there is one scale."""
    if not has_one_scale(call.operands):
        return None
    key = with_parameter(call.key, "axis", 0)
    return None if key == call.key else replace(call, key=key)


@normal_form_of("QuantizeLinear")
def returned(store: Store, call: TermCall) -> list[Term] | None:
    """The integers that DequantizeLinear read, where QuantizeLinear gives back every one of the type."""
    first = call.operands[0] if call.operands else None
    if first is None or call.application is None or not has_one_scale(call.operands):
        return None
    numbers = _dequantized(first)
    if numbers is None:
        return None
    returned_codes = _computed("QuantizeLinear", call.application, [numbers, *_arrays(call.operands[1:])])
    source = first.inputs[0]
    codes = _codes(source)
    if source is None or codes is None or returned_codes is None or returned_codes.dtype != codes.dtype:
        return None
    return [source] if np.array_equal(returned_codes, codes) else None


@normal_form_of("MaxPool")
def pooled_integers(store: Store, call: TermCall) -> list[Term] | None:
    """MaxPool of DequantizeLinear as the latter of MaxPool of the integers: a number that is larger stands for one that
    is not smaller.
    """
    if store.narrowings is not None:
        return None
    first = call.operands[0] if len(call.operands) == 1 and len(call.outputs) == 1 else None
    numbers = None if first is None else _dequantized(first)
    if first is None or numbers is None or not (np.diff(numbers) > 0).all() or not np.isfinite(numbers).all():
        return None
    source = first.inputs[0]
    if source is None or call.shape is None:
        return None
    store.rest_on("pooled-integers")
    integers = replace(call, operands=(source,), outputs=(movements.shaped(source.facts.type, call.shape),))
    [maxima] = integers.terms(store)
    dequantized = TermCall(
        first.operator, "", first.key, (maxima, *first.inputs[1:]), call.outputs, None, (), first.application
    )
    return [elementwise.term_of(store, dequantized)]


def _dequantized(term: Term) -> Array | None:
    """The numbers that all integers of the type stand for; None where a term is not DequantizeLinear of bytes."""
    if term.operator != "DequantizeLinear" or term.domain or term.application is None or not term.inputs:
        return None
    codes = _codes(term.inputs[0]) if has_one_scale(term.inputs) else None
    if codes is None:
        return None
    return _computed("DequantizeLinear", term.application, [codes, *_arrays(term.inputs[1:])])


def _codes(source: Term | None) -> Array | None:
    """All integers of the type of a term, in order."""
    kind = None if source is None else ELEMENTS.get(str(source.facts.type))
    if kind not in BYTES:
        return None
    limits = np.iinfo(kind)
    return np.arange(limits.min, limits.max + 1).astype(kind)


def _arrays(operands: Sequence[Term | None]) -> list[Array | None]:
    return [None if operand is None else operand.array for operand in operands]


def _computed(operator: str, application: Application, arrays: Sequence[Array | None]) -> Array | None:
    known = find_operator(operator)
    try:
        return None if known is None else known.define(application, arrays)[0]
    except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
        return None


# ------------------------------------------------------------------ over the reals


def without_clipped_relu(quantized: Term) -> Term | None:
    """The operand of QuantizeLinear, without a Relu whose effect the lower limit of the integers has as well.

    That holds where 0 becomes the lower limit of the output type: then a negative quotient is limited to what 0 gives.
    """
    operand, *parameters = quantized.inputs
    if not _zero_becomes_the_lower_limit(quantized, parameters):
        return operand
    while operand is not None and operand.operator == "Relu" and not operand.domain and operand.inputs[0] is not None:
        operand = operand.inputs[0]
    return operand


def _zero_becomes_the_lower_limit(quantized: Term, parameters: Sequence[Term | None]) -> bool:
    """Whether the zero point is the least integer of the output type, and every scale a positive finite number.

    The output type decides, not the zero point: a zero point that is left out is 0, the lower limit of unsigned types
    only.
    """
    scale, zero_point = (*parameters, None, None)[:2]
    integers = ELEMENTS.get(str(quantized.facts.type))
    if integers is None or integers.kind not in "iu" or scale is None or scale.array is None:
        return False
    scales = scale.array.astype(np.float64)
    if not (np.isfinite(scales) & (scales > 0)).all():
        return False
    lower_limit = np.iinfo(integers).min
    if zero_point is None:
        return bool(lower_limit == 0)
    return zero_point.array is not None and bool((zero_point.array == lower_limit).all())


def largest_magnitude(term: Term) -> float | None:
    """At least the magnitude of every element that a term can have; None where that is not known."""
    if term.array is not None:
        return float(np.max(np.abs(term.array.astype(np.float64)), initial=0.0))
    if term.operator in ("moved", "Relu", "MaxPool") and not term.domain:
        every = [None if operand is None else largest_magnitude(operand) for operand in term.inputs]
        return None if None in every else max([number for number in every if number is not None], default=None)
    if term.operator != "DequantizeLinear" or term.domain or any(operand is None for operand in term.inputs):
        return None
    source, scale, *zero = term.inputs
    kind = None if source is None else ELEMENTS.get(str(source.facts.type))
    if kind is None or kind.kind not in "iu" or scale is None or scale.array is None:
        return None
    shift = zero[0].array if zero and zero[0] is not None else np.zeros((), kind)
    if shift is None:
        return None
    limits = np.iinfo(kind)
    middle = shift.astype(np.float64)
    span = max(float(np.max(limits.max - middle)), float(np.max(middle - limits.min)))
    return span * float(np.max(np.abs(scale.array.astype(np.float64)))) * (1 + 2.0**-20)
