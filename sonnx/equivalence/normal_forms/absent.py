"""Optional inputs that change nothing: a constant that means what leaving the input out means is left out.

The data file of an operator states the constant (`absent` of an input) and the condition under which no bit of an
output depends on whether it is there (`absent_when`); `tests/operators/test_absent_inputs.py` runs both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.equivalence.terms.store import Store, Term
from sonnx.language.domain import given_key
from sonnx.language.evaluator import evaluate
from sonnx.numerics.formats import format_of, patterns
from sonnx.profile.definitions import Input
from sonnx.profile.signature import Signature


def without_neutral(
    store: Store, signature: Signature, operands: Sequence[Term | None], names: Mapping[str, Any]
) -> tuple[Term | None, ...]:
    """The operands without constants that mean what leaving them out means.

    Args:
        store: of the terms.
        signature: of the operator.
        operands: of a call.
        names: the names of the operator's rules by their effective values.
    """
    left, environment = list(operands), dict(names)
    for place, (formal, operand) in enumerate(zip(signature.inputs, operands, strict=False)):
        if operand is None or not formal.absent or not _keeps_types(signature, formal):
            continue
        holds = formal.absent_when is None or evaluate(formal.absent_when, environment) is True
        if holds and _is_everywhere(operand, formal.absent, names):
            store.rest_on("neutral-input")
            left[place] = None
            environment[given_key(formal.name)] = False
    while left and left[-1] is None:
        left.pop()
    return tuple(left)


def _keeps_types(signature: Signature, formal: Input) -> bool:
    """Whether the outputs have the same types without an input: it does not decide them, or another one does, too."""
    decided = any(output.type == formal.type for output in signature.outputs)
    return not decided or any(
        not same_type.optional and same_type.type == formal.type for same_type in signature.inputs
    )


def _is_everywhere(operand: Term, absent: str, names: Mapping[str, Any]) -> bool:
    """Whether every element of a constant is the number that a data file states: a number with its sign, or the name of
    one.
    """
    array = operand.array
    if array is None:
        return False
    if absent not in ("0", "-0"):
        number = names.get(absent)
        return type(number) is int and bool((array == number).all())
    number_format = format_of(array.dtype)
    if number_format is None:
        return array.dtype.kind in "iu" and not array.any()
    zero = np.array(number_format.sign if absent == "-0" else 0, number_format.unsigned)
    return bool((patterns(array) == zero).all())
