"""What a Z3 reading asks for in order to be defined: obligations, each under the guard of its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonnx.proofs.truths import Truth, both, implies
from sonnx.proofs.z3_values import Nothing, Partial, Value

from sonnx.facts import Unknown
from sonnx.model import WIDTH

ELEMENT_TYPES = tuple(dict.fromkeys(("float", "int64", "int32", "bool", "double", *WIDTH, "string")))
"""Element types in the order of their codes; the first is what a witness prefers."""


UNROLLED = 8
"""Turns of a loop over a number without a static bound."""


class NotStated(Exception):
    """The expression reads a fact the model does not state; the message is the reason."""


class Obliged:
    """A reading with the codes of its strings and the obligations of what it reads at present."""

    def __init__(self, turns: int = UNROLLED) -> None:
        self.turns = turns
        self.codes = {name: code for code, name in enumerate(ELEMENT_TYPES)}
        self.guards: list[Truth] = []
        self.obligations: list[Truth] = []
        self.bounds: list[Truth] = []
        """What makes loops over numbers end within the turns they are unrolled to; who reads assumes or proves it."""

    def require(self, condition: Truth) -> None:
        """Note what the expression needs at this place."""
        needed = implies(both(self.guards), condition)
        if needed is not True:
            self.obligations.append(needed)

    @contextmanager
    def under(self, guard: Truth) -> Iterator[None]:
        """What is read inside is asked only where the guard holds."""
        self.guards.append(guard)
        try:
            yield
        finally:
            self.guards.pop()

    def use(self, value: Value) -> Value:
        """The value itself, with what makes it defined noted."""
        while isinstance(value, Partial):
            self.require(value.defined)
            value = value.value
        if isinstance(value, Unknown):
            raise NotStated(value.reason)
        return value

    def truth_of(self, value: Value) -> Truth:
        """The value of a condition; what is undefined counts as false, and an obligation says so."""
        known = self.use(value)
        return False if isinstance(known, Nothing) else known
