"""The results of proving theorems as data, without a solver: reports and child processes load this module alone.

`KINDS` says what sorts of results there are; they are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sonnx.checker.report import NoVerdictSentence

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


class SolverAnswer(NamedTuple):
    """The answer of a solver to a question in SMT-LIB: "sat", "unsat", "unknown", or "refused" if it cannot read it."""

    solver: str
    version: str
    result: str
    effort: int = 0
    values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ObligationResult:
    """One obligation with the answer of each solver; `hash` is the SHA-256 of its text in SMT-LIB."""

    name: str
    hash: str
    answers: tuple[SolverAnswer, ...]
    computed: str = ""
    """Why it holds by the form of the texts, so that no solver is asked; "" if solvers are asked."""
    trivial: str = ""
    """Why the answers say nothing, "" if they say something."""
    vacuous: str = ""
    """The first solver's answer to whether the hypotheses can hold, "" if it is "sat"."""

    @property
    def status(self) -> str:
        """Proved, refuted, trivial, vacuous or undecided; solvers that disagree decide nothing."""
        if self.computed or self.trivial:
            return "proved" if self.computed else "trivial"
        found = {answer.result for answer in self.answers} - {"refused"}
        if self.vacuous:
            return "vacuous" if self.vacuous == "unsat" else "undecided"
        return {frozenset({"unsat"}): "proved", frozenset({"sat"}): "refuted"}.get(frozenset(found), "undecided")

    @property
    def confirmed(self) -> bool:
        """At least two solvers decided it, or it is computed."""
        return bool(self.computed) or sum(answer.result in ("sat", "unsat") for answer in self.answers) > 1


@dataclass(frozen=True, slots=True)
class TheoremResult:
    """A theorem with the results of its obligations, and for a refuted one the counterexample and its replay."""

    theorem: Theorem
    obligations: tuple[ObligationResult, ...]
    source: str
    """The SHA-256 of the source texts the theorem is about."""
    counterexample: tuple[tuple[str, int], ...] = ()
    replayed: str = ""
    """What the real code shows for the counterexample."""
    unconfirmed: str = ""
    """How the real code differs from the counterexample, "" if it does not."""
    unanswered: NoVerdictSentence | None = None
    """The reason why the process gave no result."""

    @property
    def status(self) -> str:
        """The status of the worst obligation; of a witness found, absent or undecided."""
        found = {each.status for each in self.obligations}
        worst = next((s for s in ("trivial", "vacuous", "undecided", "refuted", "proved") if s in found), "undecided")
        if self.theorem.expected == "found":
            return {"refuted": "found", "proved": "absent"}.get(worst, worst)
        return worst

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        if self.obligations and all(each.computed for each in self.obligations):
            return "computed"
        return STATED_KINDS[self.theorem.expected]

    @property
    def outcome(self) -> str:
        """As expected, or unexpected."""
        return "as expected" if self.expected else "unexpected"

    @property
    def expected(self) -> bool:
        """The theorem has the status it states, and the real code shows its counterexample."""
        return bool(self.status == self.theorem.expected and not self.unconfirmed)

    @property
    def confirmed(self) -> bool:
        """A second solver decided every obligation that decides the theorem."""
        decisive = "refuted" if self.status == "found" else self.status
        deciding = [each for each in self.obligations if each.status == decisive]
        return bool(deciding) and all(each.confirmed for each in deciding)
