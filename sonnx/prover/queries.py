"""The obligations of a theorem as questions in SMT-LIB, and the answers of solvers to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import z3

from sonnx.prover.results import ObligationResult, SolverAnswer
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.solvers import CONFIRMING_SOLVER, FRAGMENTS, question_text, script
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

    @property
    def decided(self) -> bool:
        """Whether no solver is asked: the obligation is computed, or an answer would say nothing."""
        return bool(self.obligation.computed or self.obligation.trivial)

    @cached_property
    def text(self) -> str:
        """Whether the obligation can fail, in SMT-LIB."""
        return question_text(self.obligation)

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def commented(question: Question) -> str:
    """The text of a question after comments that say what it belongs to; the hash is that of the text alone."""
    theorem = question.theorem
    lines = (
        f"{theorem.id}: {question.name}", theorem.statement, theorem.formula, f"domain: {theorem.domain}",
        f"size: {theorem.size} ({theorem.scope})", f"induction: {theorem.induction or 'none is needed'}",
        f"expected: {theorem.expected}; unsat means that the hypotheses imply the goal, which is negated below",
        f"SHA-256 of the text after these comments: {question.hash}",
    )  # fmt: skip
    return "".join(f"; {' '.join(line.split())}\n" for line in lines) + question.text


def questions_of(theorem: Theorem, solver: str, obligations: ObligationFactory) -> Iterator[Question]:
    """Questions for one solver, or with "all" for z3 and the solver that confirms theorems of this sort."""
    asked = ("z3", CONFIRMING_SOLVER[theorem.sort]) if solver == "all" else (solver,)
    if theorem.reason_single and solver != "z3":
        asked = ("z3",)
    able = tuple(name for name in asked if theorem.sort in FRAGMENTS[name])
    for obligation in obligations():
        yield Question(theorem, obligation, able or ("z3",))


def ask_solvers(asked: Sequence[Question], cache: SolverCache) -> tuple[ObligationResult, ...]:
    """The answers of the solvers; where none finds a counterexample, also whether the hypotheses can hold.

    No solver is asked about an obligation that is computed, or whose answer would say nothing.
    """
    answers_by_question = [() if question.decided else _answers(question, cache) for question in asked]
    stand = [bool(answers) and not refuted(answers) for answers in answers_by_question]
    vacuous = iter(_vacuous([question.obligation.hypotheses for question in compress(asked, stand)], cache))
    return tuple(
        ObligationResult(
            question.name,
            question.hash,
            answers,
            question.obligation.computed,
            "" if question.obligation.computed else question.obligation.trivial,
            next(vacuous) if stands else "",
        )
        for question, answers, stands in zip(asked, answers_by_question, stand, strict=True)
    )


def _answers(question: Question, cache: SolverCache) -> tuple[SolverAnswer, ...]:
    """The answers of the solvers; z3 looks for small values where a counterexample is expected, or is found."""
    small = question.theorem.expected != "proved"
    answers = tuple(cache.ask(name, question.text, small) for name in question.solvers)
    if small or not refuted(answers):
        return answers
    return tuple(cache.ask(name, question.text) for name in question.solvers)


def refuted(answers: Iterable[SolverAnswer]) -> bool:
    """Whether a solver finds a counterexample."""
    return any(answer.result == "sat" for answer in answers)


Hypotheses = tuple[z3.BoolRef, ...]


def _vacuous(each: Sequence[Hypotheses], cache: SolverCache) -> list[str]:
    """For each list of hypotheses the answer of z3 whether they can hold, "" if they can.

    If all of them can hold together, each list can: mostly one answer is enough for all obligations of a theorem.
    """
    different = {part.get_id(): part for hypotheses in each for part in hypotheses}
    together = possible(tuple(different.values()), cache)
    if together == "sat":
        return [""] * len(each)
    answers = [possible(hypotheses, cache) for hypotheses in each]
    return ["" if answer == "sat" else answer for answer in answers]


def possible(hypotheses: Hypotheses, cache: SolverCache) -> str:
    """What z3 answers to the question whether the hypotheses can hold together."""
    return cache.ask("z3", script(hypotheses), small=False).result if hypotheses else "sat"
