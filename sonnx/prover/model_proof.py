"""Proofs about models, for all values of their symbolic dimensions: the results as data, and the function that proves.

Reports import this module, so it loads no solver.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonnx.base.errors import UsageError
from sonnx.base.files import sha256
from sonnx.checker.verdicts import Where
from sonnx.graph.environment import NO_SHAPE, NO_TYPE
from sonnx.prover.results import SolverAnswer


class Unprovable(UsageError):
    """An assumption that does not parse or cannot hold: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A rule that fails for some values of the symbols.

    `nodes` counts the nodes with the same facts as the one at `where`; `numbers` are the smallest values found, and
    `actual` is what the check reports for the rule if the symbols are bound to them.  With the values of the symbols in
    `matters` it fails whatever the others are.
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
    matters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """A rule that was neither proved nor refuted, and why."""

    rule: str
    where: Where
    nodes: int
    reason: str

    @property
    def lacks_declaration(self) -> bool:
        """Whether it waits for a type or shape that the model does not declare."""
        return self.reason in (NO_TYPE.reason, NO_SHAPE.reason)


@dataclass(frozen=True, slots=True)
class ProofCounts:
    """At how many nodes a rule is proved, and at how many it waits for another one, of that node or one before it."""

    rule: str
    proved: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What a solver decided about a rule of one call: the text in SMT-LIB, and the answers of the solvers to it."""

    rule: str
    where: Where
    nodes: int
    text: str
    expected: str
    """"unsat" if the rule is proved, "sat" if it is refuted."""
    answers: tuple[SolverAnswer, ...] = ()

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text."""
        return sha256(self.text.encode())

    @property
    def confirmed(self) -> bool:
        """A second solver gives the expected answer."""
        return any(each.result == self.expected for each in self.answers)


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
    """A condition on the symbols that every refuted rule needs, "" if no short text states it.

    It is the weakest one for the rules refuted; `sufficient` says whether all other rules hold under it too.
    """
    notes: tuple[str, ...]
    rules: tuple[ProofCounts, ...] = ()
    """Every rule of the judged nodes, by slug; refuted and open places are listed in `refuted` and `open`."""
    sufficient: bool | None = None
    """Under the constraint the whole model is proved; None if there is no constraint."""
    solvers: tuple[str, ...] = ("z3",)
    questions: tuple[ModelQuestion, ...] = ()
    """The questions that the solver decided, if they were asked for or a second solver confirms them."""
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
