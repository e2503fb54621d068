"""Which derived theorems `make test` asks: those of a few operators of each kind; `make proofs` asks all."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sonnx.proofs.family import provable
from sonnx.proofs.theorem import Theorem

from sonnx.profile import Operator

CHOSEN = frozenset({"ArgMax", "Max"})
EVERYTHING = "SONNX_PROVE_ALL" in os.environ


def chosen() -> tuple[Operator, ...]:
    """The operators whose theorems are asked."""
    return tuple(each for each in provable() if EVERYTHING or each.name in CHOSEN)


def asked(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems about words and values, and those derived from the chosen operators."""
    names = {each.name for each in chosen()}
    return [each for each in theorems if not each.id.startswith("derived.") or _operator(each) in names]


def _operator(theorem: Theorem) -> str:
    return theorem.id.split(".")[1].split("-")[0]
