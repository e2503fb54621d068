"""What `sonnx prove MODEL --format json` prints; proof.schema.json beside this file is made from it."""

from __future__ import annotations

from typing import Literal

from sonnx.checker.verdicts import Where
from sonnx.profile.text_types import Sha256
from sonnx.prover.model_proof import ModelProof, Refuted
from sonnx.report.json_parts import EditionName, Number, Part, Slug, Tool, dumps, tool


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


class ProofDocument(Part, frozen=True):
    """The proof of a model: sonnx prove MODEL --format json."""

    format: Literal[1]
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool
    """The program that wrote the document."""
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


COPIED = ("edition", "verdict", "symbols", "assumptions", "nodes", "nodes_judged", "conditions", "proved", "distinct",
          "queries", "sufficient", "solvers", "notes")  # fmt: skip


def render(proof: ModelProof) -> str:
    """The proof as one JSON document."""
    return dumps(
        ProofDocument(
            format=1,
            tool=tool(),
            model=proof.name,
            sha256=proof.sha256 or None,
            exit=proof.exit_code,  # type: ignore[arg-type]
            rules=tuple(ProvedPart(each.rule, each.proved, each.waiting) for each in proof.rules),
            refuted=tuple(map(_refuted, proof.refuted)),
            open=tuple(OpenPart(each.rule, _node(each.where), each.nodes, each.reason) for each in proof.open),
            constraint=proof.constraint or None,
            questions=tuple(
                QuestionPart(each.rule, _node(each.where), each.sha256, each.expected, each.confirmed)  # type: ignore[arg-type]
                for each in proof.questions
            ),
            **{name: getattr(proof, name) for name in COPIED},
        )
    )


def _refuted(refuted: Refuted) -> RefutedPart:
    return RefutedPart(
        refuted.rule, _node(refuted.where), refuted.nodes, refuted.requires, dict(refuted.numbers), refuted.matters,
        refuted.actual, refuted.constraint or None, refuted.always,
    )  # fmt: skip


def _node(where: Where) -> NodePart:
    return NodePart(where.place, where.name, where.operator, where.version)
