"""The results of proving theorems as data, without a solver: reports and child processes load this module alone.

`KINDS` says what sorts of results there are; they are counted apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct, field

from sonnx.base.reported import HIDDEN, reported, reported_as, reported_of
from sonnx.checker.report import NoVerdictSentence
from sonnx.profile.text_types import Number, Sha256, Text

if TYPE_CHECKING:  # theorem.py loads z3
    from sonnx.prover.theorem import Theorem

PACKAGES = {"z3": "z3-solver", "cvc5": "cvc5", "bitwuzla": "bitwuzla"}
"""The solvers by name, with the packages that contain them."""
SOLVERS = tuple(PACKAGES)


KINDS = {
    "theorem": "a statement about all values of its domain, of the size that it names; solvers decide it",
    "computed": "a statement that holds by the form of the texts it is about; no solver is asked",
    "refuted sentence": "a false sentence of a source document, with values for which it is false",
    "witness": "a call that meets all rules of an operator, or breaks one rule alone; a check of its model confirms it",
}
"""The kinds of results, with what each says."""
KIND_NAMES = {"theorem": "theorems", "computed": "computed", "refuted sentence": "refuted sentences",
              "witness": "witnesses"}  # fmt: skip
"""The kinds in the plural."""
STATED_KINDS = {"proved": "theorem", "refuted": "refuted sentence", "found": "witness"}
"""The kind of a theorem by the result it expects."""


class SolverAnswer(Struct, frozen=True):
    """The answer of a solver."""

    solver: Text
    """Who answered."""
    version: Text
    """Its version."""
    result: Literal["sat", "unsat", "unknown", "refused"]
    """What it answered; refused if it cannot read the question."""
    effort: Number = 0
    """What it cost, in the solver's own measure."""
    values: Annotated[tuple[tuple[str, int], ...], HIDDEN] = ()
    """Values of the constants for which the assertions hold."""


class ObligationResult(Struct, frozen=True):
    """One question of a theorem."""

    name: Text
    """The name of the question."""
    hash: Sha256 = field(name="smt2_sha256")
    """The SHA-256 of the question in SMT-LIB."""
    answers: tuple[SolverAnswer, ...]
    """The answers."""
    computed: str = ""
    """Why it holds by the form of the texts; empty where solvers are asked."""
    trivial: Annotated[str, HIDDEN] = ""
    """Why the answers say nothing, "" if they say something."""
    vacuous: Annotated[str, HIDDEN] = ""
    """The first solver's answer to whether the hypotheses can hold, "" if it is "sat"."""

    @property
    @reported
    def status(self) -> Literal["proved", "refuted", "undecided", "vacuous", "trivial"]:
        """The result."""
        if self.computed or self.trivial:
            return "proved" if self.computed else "trivial"
        if self.vacuous:
            return "vacuous" if self.vacuous == "unsat" else "undecided"
        answers = {answer.result for answer in self.answers} - {"refused"}
        if len(answers) != 1 or "unknown" in answers:  # solvers that disagree decide nothing
            return "undecided"
        return "proved" if "unsat" in answers else "refuted"

    @property
    def confirmed(self) -> bool:
        """At least two solvers decided it, or it is computed."""
        return bool(self.computed) or sum(answer.result in ("sat", "unsat") for answer in self.answers) > 1


class TheoremResult(Struct, frozen=True):
    """A theorem with its result."""

    theorem: Annotated[Theorem, HIDDEN]
    obligations: tuple[ObligationResult, ...]
    """The questions it was asked by."""
    source: Sha256 = field(name="source_sha256")
    """The SHA-256 of the source texts it is about."""
    counterexample: Annotated[tuple[tuple[str, int], ...], HIDDEN] = ()
    replayed: str = ""
    """What the code that runs gives for the counterexample."""
    unconfirmed: str = ""
    """How that differs from the counterexample; empty where it does not."""
    recorded: bool = False
    """Whether the answers are those of the record that comes with the theorems, and no solver was asked."""
    unanswered: Annotated[NoVerdictSentence | None, HIDDEN] = None
    """The reason why the process gave no result."""

    id = reported_of("theorem.id", Text, "The identifier, its topic first.")
    statement = reported_of("theorem.statement", Text, "The claim in a sentence.")
    formula = reported_of("theorem.formula", str, "The claim as a formula.")
    stated_result = reported_of("theorem.expected", Literal["proved", "refuted", "found"], "The result that is stated.")
    bounds = reported_of("theorem.bounds", str, "What the claim is bounded to; empty where it holds for all.")
    bound_reason = reported_of("theorem.bound_reason", str, "Why it is bounded; empty where it is not.")
    scope = reported_of(
        "theorem.scope",
        Literal["any size", "finite domain", "bounded"],
        "How far it reaches: all of its domain, all of a domain that is finite and named, or a part of it.",
    )
    any_size = reported_of(
        "theorem.any_size",
        str,
        "Why it has no bound although the questions are about calls of bounded size; empty if they are not.",
    )
    domain = reported_of(
        "theorem.domain", Literal["integers", "reals", "bits of named formats"], "What its variables stand for."
    )
    size = reported_of("theorem.size", str, 'The bounds again, or "any" where it has none.')
    induction = reported_of(
        "theorem.induction",
        str,
        "The induction from the questions to the claim: a lemma in Why3 or Coq, or prose; empty where none is needed.",
    )
    sort = reported_of("theorem.sort", Literal["int", "bits", "float"], "The theory of the questions.")
    reason_single = reported_of("theorem.reason_single", str, "Why no second solver confirms it; empty where one can.")
    because = reported_of("theorem.because", str, "Why it matters, or why it is refuted.")
    erratum = reported_of("theorem.erratum", str, "The erratum it shows, or empty.")

    late_types = {"Theorem": ""}

    @property
    @reported_as("counterexample")
    def values(self) -> dict[str, int]:
        """Values of the constants for which it is false."""
        return dict(self.counterexample)

    @property
    @reported_as("unanswered")
    def why_unanswered(self) -> str:
        """Why its process gave no answer; empty where it gave one."""
        return str(self.unanswered or "")

    @property
    @reported
    def status(self) -> Literal["proved", "refuted", "found", "absent", "undecided", "vacuous", "trivial"]:
        """The result."""
        statuses = {obligation.status for obligation in self.obligations}
        worst = next(
            (s for s in ("trivial", "vacuous", "undecided", "refuted", "proved") if s in statuses), "undecided"
        )
        if self.theorem.expected == "found":
            return {"refuted": "found", "proved": "absent"}.get(worst, worst)  # type: ignore[return-value]
        return worst  # type: ignore[return-value]

    @property
    @reported
    def kind(self) -> Literal["theorem", "computed", "refuted sentence", "witness"]:
        """The kind of result: decided by solvers, by the form of its texts, a false sentence of a text, or a call."""
        if self.obligations and all(obligation.computed for obligation in self.obligations):
            return "computed"
        return STATED_KINDS[self.theorem.expected]  # type: ignore[return-value]

    @property
    @reported
    def outcome(self) -> Literal["as expected", "unexpected"]:
        """Whether the result is as stated, and the code that runs shows its counterexample."""
        return "as expected" if self.expected else "unexpected"

    @property
    def expected(self) -> bool:
        """The theorem has the status it states, and the real code shows its counterexample."""
        return bool(self.status == self.theorem.expected and not self.unconfirmed)

    @property
    @reported
    def confirmed(self) -> bool:
        """A second solver decided what decides it."""
        decisive = "refuted" if self.status == "found" else self.status
        deciding = [obligation for obligation in self.obligations if obligation.status == decisive]
        return bool(deciding) and all(each.confirmed for each in deciding)
