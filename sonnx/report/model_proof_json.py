"""What `sonnx prove MODEL --format json` prints; proof.schema.json beside this file is made from it."""

from __future__ import annotations

from typing import Any, Literal

from sonnx.profile.text_types import Sha256
from sonnx.prover.model_proof import ModelProof, ModelQuestion, Open, Refuted
from sonnx.report.json_parts import EditionName, JsonDocument, Kind, Number, Part, Slug, dumps, part, tool


class NodePart(Part, frozen=True):
    """A node."""

    place: str
    """The place in the file."""
    name: str
    """The name of the node."""
    operator: str
    """The operator."""
    operator_set: int | None
    """The version of the operator set."""


class ProvedPart(Part, frozen=True):
    """The nodes at which a rule holds."""

    rule: Slug
    """The slug of the rule."""
    proved: Number
    """Nodes at which it holds for all values."""
    waiting: Number
    """Nodes at which it is not decided, only because of other results."""


class RefutedPart(Part, frozen=True):
    """A rule that fails for some values."""

    rule: Slug
    """The slug of the rule."""
    where: NodePart
    """The node, or the first of several with the same facts."""
    nodes: Number
    """Nodes with the same facts."""
    requires: str
    """What the rule demands."""
    counterexample: dict[str, int]
    """The smallest values of the symbols for which it fails."""
    matters: tuple[str, ...]
    """The symbols whose values in the counterexample suffice: the rule fails whatever the others are."""
    actual: str
    """What the check says of the rule for these values."""
    constraint: str | None
    """The weakest condition under which it holds; null where it could not be stated."""
    always: bool
    """Whether it fails whatever the symbols are."""


class OpenPart(Part, frozen=True):
    """A rule that is neither proved nor refuted."""

    rule: Slug
    """The slug of the rule."""
    where: NodePart
    """The node, or the first of several with the same facts."""
    nodes: Number
    """Nodes with the same facts."""
    reason: str
    """Why it is not decided."""


class QuestionPart(Part, frozen=True):
    """A question to the solvers."""

    rule: Slug
    """The slug of the rule."""
    where: NodePart
    """The node, or the first of several with the same facts."""
    smt2_sha256: Sha256
    """The SHA-256 of the question in SMT-LIB."""
    expected: Literal["unsat", "sat"]
    """unsat if the rule is proved, sat if it is refuted."""
    confirmed: bool
    """Whether a second solver gives this answer."""


class ProofDocument(JsonDocument, frozen=True):
    """The proof of a model: sonnx prove MODEL --format json."""

    model: str
    """The file, as it was named."""
    sha256: Sha256 | None
    """The SHA-256 of the bytes that were read; null where nobody asked for it."""
    edition: EditionName
    """The edition of the profile."""
    verdict: Literal["proved", "refuted", "undecided"]
    """The verdict on the whole."""
    exit: Literal[0, 1, 3]
    """The exit code it stands for."""
    symbols: tuple[str, ...]
    """The symbolic dimensions."""
    assumptions: tuple[str, ...]
    """What is assumed of them, the defaults included."""
    nodes: Number
    """Nodes of the model."""
    nodes_judged: Number
    """Nodes whose operators have rules in the edition."""
    conditions: Number
    """Rules asked, each for each node."""
    proved: Number
    """Those that hold for all values of the symbols."""
    distinct: Number
    """Different calls: equal ones are asked once."""
    queries: Number
    """Questions the solver was asked."""
    rules: tuple[ProvedPart, ...]
    """What holds, by rule."""
    refuted: tuple[RefutedPart, ...]
    """Rules that fail for some values."""
    open: tuple[OpenPart, ...]
    """Rules that are neither proved nor refuted."""
    constraint: str | None
    """The weakest condition under which everything refuted holds; null where there is none to state."""
    sufficient: bool | None
    """Whether all conditions are proved to hold under the constraint; null if no constraint is stated."""
    solvers: tuple[str, ...]
    """The solvers that were asked, the deciding one first."""
    questions: tuple[QuestionPart, ...]
    """The questions that decide a rule, if they were kept or a second solver was asked."""
    notes: tuple[str, ...]
    """What else is to be known."""


def render(proof: ModelProof) -> str:
    """The proof as one JSON document."""
    return dumps(
        part(
            ProofDocument, proof, format=1, tool=tool(), model=proof.name, exit=proof.exit_code,
            rules=tuple(part(ProvedPart, each) for each in proof.rules),
            refuted=tuple(_at(RefutedPart, each, counterexample=dict(each.numbers)) for each in proof.refuted),
            open=tuple(_at(OpenPart, each) for each in proof.open),
            questions=tuple(_at(QuestionPart, each, smt2_sha256=each.sha256) for each in proof.questions),
        )
    )  # fmt: skip


def _at(kind: type[Kind], each: Refuted | Open | ModelQuestion, **known: Any) -> Kind:
    """A part about a node."""
    return part(kind, each, where=part(NodePart, each.where, operator_set=each.where.version), **known)
