"""Sigmoid and SiLU as exporters write them out: n / (1 + e^u) is n times the Sigmoid of -u, over the reals.

By its definition Sigmoid of -u is 1 / (1 + e^u), and a quotient is the product with the inverse (axiom "logistic").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sonnx.equivalence.terms.store import Term


class LogisticQuotient(NamedTuple):
    """A quotient by 1 + e^u.

    Attributes:
        dividend: what is divided; None for 1.
        exponent: u.
        opposite: -u, where u is its opposite; else None.
    """

    dividend: Term | None
    exponent: Term
    opposite: Term | None


def logistic_quotient(
    operator: str, operands: Sequence[Term | None], operand_of: Callable[[Term, str, int], Term | None]
) -> LogisticQuotient | None:
    """What Div or Reciprocal computes, where the divisor is 1 + e^u; None for another divisor.

    Args:
        operator: "Div" or "Reciprocal".
        operands: of the call.
        operand_of: an operand of the operator that computes a term, None for another operator.
    """
    known = [operand for operand in operands if operand is not None and operand.shape is not None]
    if len(known) < len(operands) or not known or not known[-1].is_float:
        return None
    divisor = known[-1]
    sides = [operand_of(divisor, "Add", place) for place in (0, 1)]
    for one, power in (sides, sides[::-1]):
        exponent = None if power is None or not _is_one(one) else operand_of(power, "Exp", 0)
        if exponent is None or exponent.shape != divisor.shape:
            continue
        opposite = operand_of(exponent, "Neg", 0)
        dividend = None if operator == "Reciprocal" else known[0]
        is_one = dividend is not None and _is_one(dividend) and not dividend.shape
        return LogisticQuotient(None if is_one else dividend, exponent, opposite)
    return None


def _is_one(term: Term | None) -> bool:
    """Whether every element of a constant is 1."""
    array = None if term is None else term.array
    return array is not None and array.size > 0 and bool((array.astype(np.float64) == 1).all())
