"""Asking: the obligations of one theorem as questions in SMT-LIB, and what the solvers answer to them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from sonnx.prover.solver_cache import Answers


@dataclass(frozen=True, slots=True)
class Checked:
    """One obligation with what each solver answered to its text; `hash` is that of the SMT-LIB text."""

    name: str
    hash: str
    answers: tuple[Any, ...]
    vacuous: str = ""
    """What the first solver said about the hypotheses where it was not that they can hold."""

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


@dataclass(frozen=True)
class Question:
    """An obligation of a theorem, and the solvers it goes to."""

    theorem: Any
    obligation: Any
    solvers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the obligation."""
        return str(self.obligation.name)

    @cached_property
    def text(self) -> str:
        """Whether it can fail, in SMT-LIB."""
        return str(import_module("sonnx.prover.solvers").export(self.obligation))

    @cached_property
    def hypotheses(self) -> str:
        """Whether its hypotheses can hold, in SMT-LIB; "" where there are none."""
        return str(import_module("sonnx.prover.solvers").export_hypotheses(self.obligation))


def questions(theorem: Any, solver: str, obligations: Callable[[], Iterable[Any]]) -> Iterator[Question]:
    """What to ask: of one solver, or with "all" of z3 and of the one that confirms theorems of this sort."""
    solving = import_module("sonnx.prover.solvers")
    asked = ("z3", solving.CONFIRMS[theorem.sort]) if solver == "all" else (solver,)
    if theorem.reason_single and solver != "z3":
        asked = ("z3",)
    readers = tuple(each for each in asked if theorem.sort in solving.FRAGMENTS[each])
    for each in obligations():
        yield Question(theorem, each, readers or ("z3",))


def judge(question: Question, answers: Answers) -> Checked:
    """What the solvers answer; where none finds values, whether the hypotheses can hold is asked too."""
    said = tuple(answers.ask(solver, question.text) for solver in question.solvers)
    found = any(answer.result == "sat" for answer in said)
    possible = answers.ask("z3", question.hypotheses).result if not found and question.hypotheses else "sat"
    vacuous = "" if possible == "sat" else possible
    return Checked(question.name, hashlib.sha256(question.text.encode()).hexdigest(), said, vacuous)
