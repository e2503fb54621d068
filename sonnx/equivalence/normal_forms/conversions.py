"""Chains of Cast: one that loses nothing before another one is left out.

A conversion to a type that has every number of the source keeps the number, with the sign of a zero, an infinity, and
that it is not a number.  So the next conversion gives what it gives for the number itself.  Cast gives the quiet NaN
for every NaN: a conversion of floats to their own type stays, and is equal to its operand over the reals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, normal_form_of
from sonnx.numerics.formats import ELEMENTS, format_of


class _Numbers(NamedTuple):
    """The numbers of an element type.

    Attributes:
        digits: the binary digits that every number of the type fits into.
        signed: whether there are negative ones.
        high: the binary exponent below which all magnitudes are.
        low: the exponent of the least digit; 0 for integers.
        is_float: whether it has infinities and -0.
    """

    digits: int
    signed: bool
    high: int
    low: int
    is_float: bool

    def has_all_of(self, other: _Numbers) -> bool:
        """Whether every number of another type is one of this type."""
        if other.is_float and not self.is_float:
            return False
        wide = self.digits >= other.digits and self.high >= other.high and self.low <= other.low
        return wide and (self.signed or not other.signed)


@normal_form_of("Cast", any_shape=True)
def without_lossless_cast(store: Store, call: TermCall) -> TermCall | list[Term] | None:
    """Cast of integers to their own type, which is the operand; Cast of a Cast that loses nothing, which is that of its
    operand.
    """
    operand = call.operands[0] if len(call.operands) == 1 else None
    if operand is None or len(call.outputs) != 1:
        return None
    target = call.outputs[0].type
    if operand.facts.type == target and operand.is_discrete and numbers_of(target) is not None:
        store.rest_on("conversion")
        return [operand]
    source = operand.inputs[0] if operand.operator == "Cast" and not operand.domain else None
    if source is None or not _may_be_left_out(source.facts.type, operand.facts.type, target):
        return None
    store.rest_on("conversion")
    return replace(call, operands=(source,), application=None)


def _may_be_left_out(source: Any, between: Any, target: Any) -> bool:
    """Whether a number of one type is converted to a target alike with and without a conversion to another type.

    From floats to integers the texts leave a number open that the target does not have, and they differ between
    integers and floats: so there the target has to have every number.
    """
    first, second, last = numbers_of(source), numbers_of(between), numbers_of(target)
    if first is None or second is None or last is None or not second.has_all_of(first):
        return False
    integers = not (first.is_float or second.is_float or last.is_float)
    return last.is_float or target == "bool" or integers or last.has_all_of(first)


def numbers_of(element: Any) -> _Numbers | None:
    """The numbers of an element type; None where it has others than finite binary ones, infinities and NaN (text,
    complex numbers, floats of eight bits and less).
    """
    kind = ELEMENTS.get(element) if isinstance(element, str) else None
    if kind is None:
        return None
    if kind.kind == "b":
        return _Numbers(1, False, 1, 0, False)
    number_format = format_of(kind)
    if number_format is None:
        if kind.kind not in "iu":
            return None
        digits = 8 * kind.itemsize - (kind.kind == "i")
        return _Numbers(digits, kind.kind == "i", digits, 0, False)
    return _FLOATS.get(element)


_FLOATS = {
    "float16": _Numbers(11, True, 16, -24, True),
    "bfloat16": _Numbers(8, True, 128, -133, True),
    "float": _Numbers(24, True, 128, -149, True),
    "double": _Numbers(53, True, 1024, -1074, True),
}
