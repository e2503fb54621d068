"""The results of proving theorems as data, without a solver: reports and child processes load this module alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sonnx.checker.report import NoVerdictSentence

if TYPE_CHECKING:  # theorem.py loads z3
    from sonnx.prover.theorem import Theorem

PACKAGES = {"z3": "z3-solver", "cvc5": "cvc5", "bitwuzla": "bitwuzla"}
"""The solvers by name, with the packages that contain them."""
SOLVERS = tuple(PACKAGES)


class SolverAnswer(NamedTuple):
    """The answer of a solver to a question in SMT-LIB: "sat", "unsat", "unknown", or "refused" if it cannot read it.

    `steps` and `trusted` count the steps of its proof, where it gives one, and those of them it does not justify.
    """

    solver: str
    version: str
    result: str
    effort: int = 0
    values: tuple[tuple[str, int], ...] = ()
    steps: int = 0
    trusted: int = 0


@dataclass(frozen=True, slots=True)
class ObligationResult:
    """One obligation with the answer of each solver; `hash` is the SHA-256 of its text in SMT-LIB."""

    name: str
    hash: str
    answers: tuple[SolverAnswer, ...]
    vacuous: str = ""
    """The first solver's answer to whether the hypotheses can hold, "" if it is "sat"."""

    @property
    def status(self) -> str:
        """Proved, refuted, vacuous or undecided; solvers that disagree decide nothing."""
        found = {answer.result for answer in self.answers} - {"refused"}
        if self.vacuous:
            return "vacuous" if self.vacuous == "unsat" else "undecided"
        return {frozenset({"unsat"}): "proved", frozenset({"sat"}): "refuted"}.get(frozenset(found), "undecided")

    @property
    def confirmed(self) -> bool:
        """At least two solvers decided it."""
        return sum(answer.result in ("sat", "unsat") for answer in self.answers) > 1


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
        """The status of the worst obligation: vacuous, undecided, refuted, proved."""
        found = {each.status for each in self.obligations}
        return next((s for s in ("vacuous", "undecided", "refuted", "proved") if s in found), "undecided")

    @property
    def expected(self) -> bool:
        """The theorem has the status it states, and the real code shows its counterexample."""
        return bool(self.status == self.theorem.expected and not self.unconfirmed)

    @property
    def confirmed(self) -> bool:
        """A second solver decided every obligation that decides the theorem."""
        deciding = [each for each in self.obligations if each.status == self.status]
        return bool(deciding) and all(each.confirmed for each in deciding)
