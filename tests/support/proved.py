"""Which derived theorems `make test` asks; `make proofs` asks all.

Of the others `make test` asks whether their questions are those of the record, which says what came out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import Operator
from sonnx.prover.theorem import Theorem

CHOSEN = frozenset({"ArgMax", "Max"})
"""The operators whose theorems are looked at one by one."""
EVERYTHING = "SONNX_PROVE_ALL" in os.environ


def chosen() -> tuple[Operator, ...]:
    """The operators whose theorems are looked at one by one."""
    return tuple(each for each in operators() if EVERYTHING or each.name in CHOSEN)


def of_chosen(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems derived from those."""
    names = {each.name for each in chosen()}
    return [each for each in theorems if _operator(each) in names]


def asked(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems about words, values and operators, and those derived from the chosen operators."""
    names = {"", *(each.name for each in chosen())}
    return [each for each in theorems if _operator(each) in names]


def _operator(theorem: Theorem) -> str:
    return theorem.id.split(".")[1].split("-")[0] if theorem.id.startswith("derived.") else ""
