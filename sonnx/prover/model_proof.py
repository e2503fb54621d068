"""Proofs about models, for all values of their symbolic dimensions: the results as data, and the function that proves.

Reports import this module, so it loads no solver.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonnx.base.errors import UsageError
from sonnx.checker.verdicts import Where


class Unprovable(UsageError):
    """An assumption that does not parse or cannot hold: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A rule that fails for some values of the symbols.

    `nodes` counts the nodes with the same facts as the one at `where`; `numbers` are the smallest values found, and
    `actual` is what the check reports for the rule if the symbols are bound to them.
    """

    rule: str
    where: Where
    nodes: int
    requires: str
    numbers: tuple[tuple[str, int], ...]
    actual: str
    constraint: str
    """The weakest condition on the symbols under which the rule holds, "" if no short text states it."""
    always: bool
    """It fails for all values of the symbols."""


@dataclass(frozen=True, slots=True)
class Open:
    """A rule that was neither proved nor refuted, and why."""

    rule: str
    where: Where
    nodes: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProofCounts:
    """At how many nodes a rule is proved, and at how many it waits for another one, of that node or one before it."""

    rule: str
    proved: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ModelProof:
    """The proof of a model: every rule of every node of the catalogue's operators, for all values of the symbols."""

    name: str
    edition: str
    symbols: tuple[str, ...]
    assumptions: tuple[str, ...]
    """The assumptions about the symbols, defaults included."""
    nodes: int
    nodes_judged: int
    """Nodes whose operator has rules in the edition."""
    conditions: int
    """Rules evaluated, counted once for each node."""
    proved: int
    distinct: int
    """Different calls; equal calls are proved once."""
    queries: int
    """Questions to the solver; all others fold to constants."""
    refuted: tuple[Refuted, ...]
    open: tuple[Open, ...]
    constraint: str
    """The weakest condition on the symbols under which all refuted rules hold, "" if no short text states it."""
    notes: tuple[str, ...]
    rules: tuple[ProofCounts, ...] = ()
    """Every rule of the judged nodes, by slug; refuted and open places are listed in `refuted` and `open`."""
    sha256: str = ""
    """The SHA-256 of the bytes that were read, "" if it was not requested."""

    @property
    def verdict(self) -> str:
        """Proved, refuted or undecided."""
        if self.refuted:
            return "refuted"
        return "undecided" if self.open or self.nodes_judged < self.nodes else "proved"

    @property
    def exit_code(self) -> int:
        """0 proved, 1 refuted, 3 undecided."""
        return {"proved": 0, "refuted": 1, "undecided": 3}[self.verdict]
