"""Which derived theorems `make test` compares with the record, and whose mutants it decides.

`make proofs` proves all.
"""

from __future__ import annotations

from functools import cache

from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import OperatorDefinition
from sonnx.proofs import registry
from sonnx.prover.theorem import Theorem
from tests.support.cases import DEEP

CHOSEN_OPERATORS = frozenset({"ArgMax", "Max"})
"""The operators whose derived theorems are looked at one by one."""


def chosen_operators() -> tuple[OperatorDefinition, ...]:
    """The operators whose derived theorems are looked at one by one."""
    return tuple(each for each in operators() if DEEP or each.name in CHOSEN_OPERATORS)


@cache
def derived_from_chosen() -> tuple[Theorem, ...]:
    """The theorems derived from the chosen operators."""
    names = {each.name for each in chosen_operators()}
    derived = (each for each in registry.theorems() if each.id.startswith("derived."))
    return tuple(each for each in derived if each.id.split(".")[1].split("-")[0] in names)


@cache
def stated_and_chosen() -> tuple[Theorem, ...]:
    """The theorems that are not derived, and those derived from the chosen operators."""
    return (*registry.stated(), *derived_from_chosen())
