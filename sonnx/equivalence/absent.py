"""Optional inputs that change nothing: a constant that means what leaving the input out means is left out.

Each row of `NEUTRAL_INPUTS` names the constant, the argument why no bit of an output depends on it, and the condition
under which the argument holds.  The arguments rest on the definitions of the operators (`sonnx/operators`): they start
the states of a recurrent operator at +0, add biases to exact sums, and round a sum once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sonnx.equivalence.term_calls import TermCall, normal_form_of
from sonnx.equivalence.terms import Store, Term
from sonnx.numerics.formats import format_of, patterns
from sonnx.operators import find_operator

Operands: TypeAlias = Sequence[Term | None]
Parameters: TypeAlias = Mapping[str, Any]


def _always(operands: Operands, parameters: Parameters) -> bool:
    return True


def _is_added_unscaled(operands: Operands, parameters: Parameters) -> bool:
    return bool(parameters.get("beta", 1) == 1)


INITIAL_CELL = 6
"""The place of the initial cell among the inputs of LSTM."""


def _has_finite_cells(operands: Operands, parameters: Parameters) -> bool:
    """Whether every cell of an LSTM is finite or NaN, and its gates are the same for +0 and -0.

    A cell is f c + i g.  With Sigmoid, f and i are between 0 and 1, and equal for both zeros; with |g| at most 1 a cell
    grows by at most 1 in each step, from +0 on.
    """
    if len(operands) > INITIAL_CELL and operands[INITIAL_CELL] is not None:
        return False
    activations = parameters.get("activations")
    if not isinstance(activations, tuple | list) or not activations or len(activations) % 3:
        return False
    return all(gate == "Sigmoid" for gate in activations[::3]) and all(map(_is_within_one, activations[1::3]))


def _is_within_one(activation: object) -> bool:
    operator = find_operator(activation) if isinstance(activation, str) else None
    return operator is not None and operator.ends is not None and max(map(abs, operator.ends)) <= 1


@dataclass(frozen=True, slots=True)
class NeutralInput:
    """A constant that may be left out.

    Attributes:
        operator: the operator.
        place: the place of the input.
        value: every element of the constant: "+0", "-0", or the name of a parameter that is that number.
        because: why no bit of an output depends on it.
        holds: whether `because` holds, of the operands and the parameters.
    """

    operator: str
    place: int
    value: str
    because: str
    holds: Callable[[Operands, Parameters], bool] = _always


STARTS_AT_ZERO = "a state that is left out starts at +0"

NEUTRAL_INPUTS = (
    NeutralInput("Gemm", 2, "-0", "-0 added to an exact sum changes neither it nor its sign", _is_added_unscaled),
    NeutralInput("GRU", 5, "+0", STARTS_AT_ZERO),
    NeutralInput("LSTM", 3, "-0", "-0 added to an exact sum changes neither it nor its sign"),
    NeutralInput("LSTM", 4, "steps", "a length that is left out is the number of steps"),
    NeutralInput("LSTM", 5, "+0", STARTS_AT_ZERO),
    NeutralInput("LSTM", INITIAL_CELL, "+0", STARTS_AT_ZERO),
    NeutralInput(
        "LSTM",
        7,
        "+0",
        "a peephole of +0 adds a zero to the sum of a gate, because its cell is finite; of a cell that is NaN the next "
        "cells and states are NaN in any case",
        _has_finite_cells,
    ),
)
"""The constants that may be left out; a later row of an operator sees the operands that earlier ones leave."""


@normal_form_of(*dict.fromkeys(neutral.operator for neutral in NEUTRAL_INPUTS))
def without_neutral(store: Store, call: TermCall) -> TermCall | None:
    """A call without the constants that change nothing."""
    operands, parameters = list(call.operands), {} if call.application is None else call.application.names
    for neutral in NEUTRAL_INPUTS:
        operand = operands[neutral.place] if neutral.place < len(operands) else None
        if neutral.operator != call.operator or operand is None or not neutral.holds(operands, parameters):
            continue
        if _is(operand, neutral.value, parameters):
            operands[neutral.place] = None
    while operands and operands[-1] is None:
        operands.pop()
    if tuple(operands) == call.operands:
        return None
    if sum(operand is not None for operand in operands) < sum(operand is not None for operand in call.operands):
        store.rest_on("neutral-input")
    return replace(call, operands=tuple(operands))


def _is(operand: Term, value: str, parameters: Parameters) -> bool:
    """Whether an operand is a constant of this value, bit for bit."""
    array = operand.array
    if array is None:
        return False
    if value not in ("+0", "-0"):
        number = parameters.get(value)
        return type(number) is int and bool((array == number).all())
    number_format = format_of(array.dtype)
    if number_format is None:
        return False
    zero = np.array(number_format.sign if value == "-0" else 0, number_format.unsigned)
    return bool((patterns(array) == zero).all())
