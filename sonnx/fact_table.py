"""Facts by number, so that equal calls are found by comparing numbers."""

from __future__ import annotations

from sonnx.facts import Tensor as TensorFacts

Rows = tuple[int, ...]
"""Facts by their numbers."""

OMITTED = 0
"""The row of an input or output that is left out."""


class FactTable:
    """The different facts of one check, each with a row number: numbers are compared faster than facts."""

    def __init__(self) -> None:
        self.rows: dict[TensorFacts, int] = {}
        self.known: list[TensorFacts | None] = [None]

    def row(self, facts: TensorFacts) -> int:
        """The number of these facts."""
        found = self.rows.get(facts)
        if found is None:
            found = self.rows[facts] = len(self.known)
            self.known.append(facts)
        return found

    def facts(self, rows: Rows) -> list[TensorFacts | None]:
        """The facts of numbers, None for what is left out."""
        return [self.known[row] for row in rows]
