"""Inputs that change nothing: a constant that stands for an input that may be left out is left out.

-0 is the neutral element of a floating-point sum, also where zeros of either sign are added; the states of recurrent
operators start at +0, and what is left out of LSTM is 0, as their definitions say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.equivalence.terms import Term
from sonnx.numerics.formats import format_of, patterns

NEUTRAL: Mapping[str, Mapping[int, str]] = {
    "Gemm": {2: "-0"},
    "GRU": {5: "+0"},
    "LSTM": {3: "-0", 4: "steps", 5: "+0", 6: "+0", 7: "+0"},
}
"""By operator and place of an input, the value that leaving it out means; "steps" is a defined name of the operator."""

PEEPHOLES, CELL = 7, 6
"""Inputs of LSTM: peepholes of 0 change nothing only where the cell starts at a finite number."""


def without_neutral(operator: str, inputs: Sequence[Term | None], names: Mapping[str, Any]) -> list[Term | None]:
    """The inputs without constants that change nothing."""
    terms = list(inputs)
    if operator == "Gemm" and names.get("beta", 1) != 1:
        return terms
    for index, value in NEUTRAL.get(operator, {}).items():
        term = terms[index] if index < len(terms) else None
        kept = index == PEEPHOLES and len(terms) > CELL and terms[CELL] is not None
        if term is not None and not kept and _is(term, value, names):
            terms[index] = None
    while terms and terms[-1] is None:
        terms.pop()
    return terms


def _is(term: Term, value: str, names: Mapping[str, Any]) -> bool:
    """Whether a term is a constant of this value, bit for bit."""
    if term.array is None:
        return False
    if value == "steps":
        return type(names.get(value)) is int and bool((term.array == names[value]).all())
    number_format = format_of(term.array.dtype)
    if number_format is None:
        return False
    return bool(
        (patterns(term.array) == np.array(number_format.sign if value == "-0" else 0, number_format.unsigned)).all()
    )
