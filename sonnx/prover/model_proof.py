"""Proofs about models, for all values of their symbolic dimensions: the results as data, and the function that proves.

Reports import this module, so it loads no solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from sonnx.base.errors import UsageError
from sonnx.base.files import sha256
from sonnx.base.reported import ABSENT_IF_EMPTY, HIDDEN, OptionalText, SecondResult, reported, reported_as
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.verdicts import Where
from sonnx.graph.environment import NO_SHAPE, NO_TYPE
from sonnx.profile.text_types import EditionName, Number, Sha256, Slug
from sonnx.prover.results import SolverAnswer


class Unprovable(UsageError):
    """An assumption that does not parse or cannot hold: one sentence for the user."""


class Refuted(Struct, frozen=True):
    """A rule that fails for some values."""

    rule: Slug
    """The slug of the rule."""
    where: Where
    """The node, or the first of several with the same facts."""
    nodes: Number
    """Nodes with the same facts."""
    requires: str
    """What the rule demands."""
    counterexample: Mapping[str, int]
    """The smallest values of the symbols for which it fails."""
    actual: str
    """What the check says of the rule for these values."""
    constraint: OptionalText
    """The weakest condition under which it holds; null where it could not be stated."""
    always: bool
    """Whether it fails whatever the symbols are."""
    matters: tuple[str, ...] = ()
    """The symbols whose values in the counterexample suffice: the rule fails whatever the others are."""


class Open(Struct, frozen=True):
    """A rule that is neither proved nor refuted."""

    rule: Slug
    """The slug of the rule."""
    where: Where
    """The node, or the first of several with the same facts."""
    nodes: Number
    """Nodes with the same facts."""
    reason: str
    """Why it is not decided."""

    @property
    def lacks_declaration(self) -> bool:
        """Whether it waits for a type or shape that the model does not declare."""
        return self.reason in (NO_TYPE.reason, NO_SHAPE.reason)


class ProofCounts(Struct, frozen=True):
    """The nodes at which a rule holds."""

    rule: Slug
    """The slug of the rule."""
    proved: Number
    """Nodes at which it holds for all values."""
    waiting: Number
    """Nodes at which it is not decided, only because of other results."""


class ModelQuestion(Struct, frozen=True):
    """A question to the solvers."""

    rule: Slug
    """The slug of the rule."""
    where: Where
    """The node, or the first of several with the same facts."""
    nodes: Annotated[int, HIDDEN]
    text: Annotated[str, HIDDEN]
    """The question in SMT-LIB."""
    expected: Literal["unsat", "sat"]
    """unsat if the rule is proved, sat if it is refuted."""
    answers: Annotated[tuple[SolverAnswer, ...], HIDDEN] = ()
    """The answers of the second solver."""

    @property
    @reported_as("smt2_sha256")
    def sha256(self) -> Sha256:
        """The SHA-256 of the question in SMT-LIB."""
        return sha256(self.text.encode())

    @property
    @reported
    def confirmed(self) -> bool:
        """Whether a second solver gives this answer."""
        return any(answer.result == self.expected for answer in self.answers)


class ModelProof(SecondResult, frozen=True):
    """The proof of a model: sonnx prove MODEL --format json."""

    name: str = field(name="model")
    """The file, as it was named."""
    conditions: Conditions
    """What the proof holds for."""
    symbols: tuple[str, ...]
    """The symbolic dimensions."""
    assumptions: tuple[str, ...]
    """What is assumed of them, the defaults included."""
    nodes: Number
    """Nodes of the model."""
    nodes_judged: Number
    """Nodes whose operators have rules in the edition."""
    asked: Number
    """Rules asked, each for each node."""
    proved: Number
    """Those that hold for all values of the symbols."""
    distinct: Number
    """Different calls: equal ones are asked once."""
    queries: Number
    """Questions the solver was asked."""
    refuted: tuple[Refuted, ...]
    """Rules that fail for some values."""
    open: tuple[Open, ...]
    """Rules that are neither proved nor refuted."""
    constraint: OptionalText
    """The weakest condition under which everything refuted holds; null where there is none to state."""
    notes: tuple[str, ...]
    """What else is to be known."""
    rules: tuple[ProofCounts, ...] = ()
    """What holds, by rule."""
    sufficient: bool | None = None
    """Whether all conditions are proved to hold under the constraint; null if no constraint is stated."""
    solvers: tuple[str, ...] = ("z3",)
    """The solvers that were asked, the deciding one first."""
    questions: tuple[ModelQuestion, ...] = ()
    """The questions that decide a rule, if they were kept or a second solver was asked."""

    @property
    @reported
    def edition(self) -> EditionName:
        """The edition of the profile."""
        return self.conditions.edition or ""

    @property
    @reported
    def sha256(self) -> Annotated[Sha256, ABSENT_IF_EMPTY]:
        """The SHA-256 of the bytes that were read; null where nobody asked for it."""
        return self.conditions.digests.get(MODEL, "")

    @property
    @reported
    def verdict(self) -> Literal["proved", "refuted", "undecided"]:
        """The verdict on the whole."""
        if self.refuted:
            return "refuted"
        return "undecided" if self.open or self.nodes_judged < self.nodes else "proved"

    @property
    @reported_as("exit")
    def exit_code(self) -> Literal[0, 1, 3]:
        """The exit code it stands for."""
        codes: dict[str, Literal[0, 1, 3]] = {"proved": 0, "refuted": 1, "undecided": 3}
        return codes[self.verdict]
