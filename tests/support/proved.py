"""Which derived theorems `make test` compares with the record, and whose mutants it decides.

`make proofs` proves all.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import Operator
from sonnx.prover.theorem import Theorem
from tests.support.cases import DEEP

CHOSEN_OPERATORS = frozenset({"ArgMax", "Max"})
"""The operators whose derived theorems are looked at one by one."""


def chosen_operators() -> tuple[Operator, ...]:
    """The operators whose derived theorems are looked at one by one."""
    return tuple(each for each in operators() if DEEP or each.name in CHOSEN_OPERATORS)


def derived_from_chosen(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems derived from the chosen operators."""
    names = {each.name for each in chosen_operators()}
    return [each for each in theorems if _operator(each) in names]


def stated_and_chosen(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems that are not derived, and those derived from the chosen operators."""
    names = {"", *(each.name for each in chosen_operators())}
    return [each for each in theorems if _operator(each) in names]


def _operator(theorem: Theorem) -> str:
    return theorem.id.split(".")[1].split("-")[0] if theorem.id.startswith("derived.") else ""
