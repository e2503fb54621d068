"""Inputs whose absence means zeros: a constant of zeros is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonnx.equivalence.terms import Term
from sonnx.numerics.formats import patterns

ZEROS: Mapping[str, tuple[int, ...]] = {"GRU": (5,), "LSTM": (5, 6)}
"""The initial states of recurrent operators, which start at +0 where they are left out, as their texts say."""


def without_zeros(operator: str, inputs: Sequence[Term | None]) -> list[Term | None]:
    """The inputs without constants of +0 where their absence means +0."""
    made = list(inputs)
    for index in ZEROS.get(operator, ()):
        each = made[index] if index < len(made) else None
        if each is not None and each.array is not None and not patterns(each.array).any():
            made[index] = None
    while made and made[-1] is None:
        made.pop()
    return made
