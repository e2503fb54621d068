"""What `sonnx prove --format json` prints of theorems; theorems.schema.json beside this file is made from it.

These are the certificates: the questions by their hashes, and the answer of each solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sonnx.profile.text_types import Number, Sha256, Text
from sonnx.prover.results import ObligationResult, TheoremResult
from sonnx.report.json_parts import Part, Tool, dumps, part, tool


class AnswerPart(Part, frozen=True):
    """The answer of a solver."""

    solver: Text
    """Who answered."""
    version: Text
    """Its version."""
    result: Literal["sat", "unsat", "unknown", "refused"]
    """What it answered; refused if it cannot read the question."""
    effort: Number
    """What it cost, in the solver's own measure."""


class ObligationPart(Part, frozen=True):
    """One question of a theorem."""

    name: Text
    """The name of the question."""
    status: Literal["proved", "refuted", "undecided", "vacuous", "trivial"]
    """The result."""
    computed: str
    """Why it holds by the form of the texts; empty where solvers are asked."""
    smt2_sha256: Sha256
    """The SHA-256 of the question in SMT-LIB."""
    answers: tuple[AnswerPart, ...]
    """The answers."""


class TheoremPart(Part, frozen=True):
    """A theorem with its result."""

    id: Text
    """The identifier, its topic first."""
    statement: Text
    """The claim in a sentence."""
    formula: str
    """The claim as a formula."""
    expected: Literal["proved", "refuted", "found"]
    """The result that is stated."""
    bounds: str
    """What the claim is bounded to; empty where it holds for all."""
    any_size: str
    """Why it has no bound although the questions are about calls of bounded size; empty if they are not."""
    domain: Literal["integers", "reals", "bits of named formats"]
    """What its variables stand for."""
    size: str
    """The bounds again, or "any" where it has none."""
    induction: str
    """The induction from the questions to the claim: a lemma in Why3 or Coq, or prose; empty where none is needed."""
    sort: Literal["int", "bits", "float"]
    """The theory of the questions."""
    reason_single: str
    """Why no second solver confirms it; empty where one can."""
    because: str
    """Why it matters, or why it is refuted."""
    erratum: str
    """The erratum it shows, or empty."""
    kind: Literal["theorem", "computed", "refuted sentence", "witness"]
    """The kind of result: decided by solvers, by the form of its texts, a false sentence of a document, or a call."""
    status: Literal["proved", "refuted", "found", "absent", "undecided", "vacuous", "trivial"]
    """The result."""
    outcome: Literal["as expected", "unexpected"]
    """Whether the result is as stated, and the code that runs shows its counterexample."""
    confirmed: bool
    """A second solver decided what decides it."""
    source_sha256: Sha256
    """The SHA-256 of the source texts it is about."""
    counterexample: dict[str, int]
    """Values of the constants for which it is false."""
    replayed: str
    """What the code that runs gives for the counterexample."""
    unconfirmed: str
    """How that differs from the counterexample; empty where it does not."""
    unanswered: str
    """Why its process gave no answer; empty where it gave one."""
    obligations: tuple[ObligationPart, ...]
    """The questions it was asked by."""


class TheoremsDocument(Part, frozen=True):
    """The results of theorems: sonnx prove --format json."""

    format: Literal[2]
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool
    """The program that wrote the document."""
    theorems: tuple[TheoremPart, ...]
    """Every theorem that was asked."""


def render(outcomes: Sequence[TheoremResult]) -> str:
    """The certificates as one JSON document."""
    return dumps(TheoremsDocument(2, tool(), tuple(map(_certificate, outcomes))))


def _certificate(outcome: TheoremResult) -> TheoremPart:
    found = {
        name: getattr(outcome, name) for name in ("kind", "status", "outcome", "confirmed", "replayed", "unconfirmed")
    }
    return part(
        TheoremPart, outcome.theorem, **found, source_sha256=outcome.source,
        counterexample=dict(outcome.counterexample), unanswered=str(outcome.unanswered or ""),
        obligations=tuple(map(_obligation, outcome.obligations)),
    )  # fmt: skip


def _obligation(each: ObligationResult) -> ObligationPart:
    answers = tuple(part(AnswerPart, answer) for answer in each.answers)
    return part(ObligationPart, each, smt2_sha256=each.hash, answers=answers)
