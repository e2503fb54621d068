"""The obligations of a theorem as questions in SMT-LIB, and the answers of solvers to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sonnx.prover.results import ObligationResult
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.solvers import CONFIRMING_SOLVER, FRAGMENTS, export, export_hypotheses
from sonnx.prover.theorem import Obligation, ObligationFactory, Theorem


@dataclass(frozen=True)
class Question:
    """An obligation of a theorem, and the solvers to ask."""

    theorem: Theorem
    obligation: Obligation
    solvers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the obligation."""
        return self.obligation.name

    @cached_property
    def text(self) -> str:
        """Whether the obligation can fail, in SMT-LIB."""
        return export(self.obligation)

    @cached_property
    def hypotheses(self) -> str:
        """Whether its hypotheses can hold, in SMT-LIB; "" if there are none."""
        return export_hypotheses(self.obligation)

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def questions(theorem: Theorem, solver: str, obligations: ObligationFactory) -> Iterator[Question]:
    """Questions for one solver, or with "all" for z3 and the solver that confirms theorems of this sort."""
    asked = ("z3", CONFIRMING_SOLVER[theorem.sort]) if solver == "all" else (solver,)
    if theorem.reason_single and solver != "z3":
        asked = ("z3",)
    able = tuple(each for each in asked if theorem.sort in FRAGMENTS[each])
    for each in obligations():
        yield Question(theorem, each, able or ("z3",))


def ask_solvers(question: Question, cache: SolverCache) -> ObligationResult:
    """The answers of the solvers; if none finds a counterexample, also whether the hypotheses can hold.

    No solver is asked about an obligation that is computed, or whose answer would say nothing.
    """
    obligation = question.obligation
    if obligation.computed or obligation.trivial:
        computed, trivial = obligation.computed, "" if obligation.computed else obligation.trivial
        return ObligationResult(question.name, question.hash, (), computed, trivial)
    answers = tuple(cache.ask(solver, question.text) for solver in question.solvers)
    refuted = any(answer.result == "sat" for answer in answers)
    possible = cache.ask("z3", question.hypotheses).result if not refuted and question.hypotheses else "sat"
    vacuous = "" if possible == "sat" else possible
    return ObligationResult(question.name, question.hash, answers, vacuous=vacuous)
