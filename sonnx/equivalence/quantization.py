"""Quantized values: forms of QuantizeLinear and DequantizeLinear, and how far rounding reaches in a quantized value.

A model that computes in floating point between DequantizeLinear and QuantizeLinear, and one that computes in integers,
have the same ideal quotient before it is rounded to a whole number.  Roundings on the way there move it by at most
`reach` quanta; while that is less than one half, the results differ by at most one quantum, and only where the ideal
quotient is no further than that from the middle between two whole numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sonnx.base.errors import Stop
from sonnx.equivalence import movements
from sonnx.equivalence.keys import with_parameter
from sonnx.equivalence.terms import Store, Term
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators import find_operator

OPERATORS = frozenset({"DequantizeLinear", "QuantizeLinear"})
BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
"""Element types whose numbers are all tried."""


def has_one_scale(operands: Sequence[Term | None]) -> bool:
    """Whether scale and zero point of an operand are constants of one element."""
    return all(operand is None or (operand.array is not None and operand.array.size == 1) for operand in operands[1:])


def without_axis(key: Hashable, operands: Sequence[Term | None]) -> Hashable:
    """The key of a call, without the axis where there is one scale."""
    return with_parameter(key, "axis", 0) if has_one_scale(operands) else key


def returned(operands: Sequence[Term | None], application: Application) -> Term | None:
    """What QuantizeLinear gives back of DequantizeLinear: the same integers, where it gives back every one of the type;
    else None.
    """
    first = operands[0]
    if first is None or not has_one_scale(operands):
        return None
    numbers = _dequantized(first)
    if numbers is None:
        return None
    back = _computed("QuantizeLinear", application, [numbers, *_arrays(operands[1:])])
    source = first.inputs[0]
    codes = _codes(source)
    if back is None or codes is None or back.dtype != codes.dtype or not np.array_equal(back, codes):
        return None
    return source


def pooled(
    store: Store, operands: Sequence[Term | None], key: Hashable, application: Application, shape: Sequence[int]
) -> tuple[Term, Term] | None:
    """For MaxPool of DequantizeLinear the latter, and MaxPool of the integers: a number that is larger stands for one
    that is not smaller.  None for other operands.
    """
    first = operands[0] if len(operands) == 1 else None
    numbers = None if first is None or application.outputs != 1 else _dequantized(first)
    if first is None or numbers is None or not (np.diff(numbers) > 0).all() or not np.isfinite(numbers).all():
        return None
    source = first.inputs[0]
    assert source is not None  # noqa: S101  it has numbers
    facts = movements.shaped(source.facts.type, shape)
    return first, store.applied("MaxPool", key, [source], 0, facts, application=application)


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
    made = find_operator(operator)
    try:
        return None if made is None else made.define(application, arrays)[0]
    except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
        return None


# ------------------------------------------------------------------ over the reals


def without_clipped_relu(term: Term) -> Term | None:
    """The operand of QuantizeLinear, without a Relu whose effect the limit of the integers has, too."""
    first, *others = term.inputs
    scale, zero = (*[None if other is None else other.array for other in others], None, None)[:2]
    while first is not None and first.operator == "Relu" and not first.domain and first.inputs[0] is not None:
        lowest = np.iinfo(zero.dtype).min if zero is not None and zero.dtype.kind in "iu" else None
        least = zero is None or (lowest is not None and bool((zero == lowest).all()))
        if scale is None or not (scale.astype(np.float64) > 0).all() or not least:
            return first
        first = first.inputs[0]
    return first


def largest(term: Term) -> float | None:
    """At least the magnitude of every element that a term can have; None where that is not known."""
    if term.array is not None:
        return float(np.max(np.abs(term.array.astype(np.float64)), initial=0.0))
    if term.operator in ("moved", "Relu", "MaxPool") and not term.domain:
        every = [None if operand is None else largest(operand) for operand in term.inputs]
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
