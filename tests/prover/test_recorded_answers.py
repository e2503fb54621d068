"""The record answers in place of solvers where the questions and the versions are the same, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import z3

from sonnx.prover import driver, record, solvers
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.theorem import Mutant, Obligation, Theorem
from tests.support.cases import each_case

X, Y = z3.Ints("x y")
PROVED = Theorem(
    "test.proved",
    "It holds.",
    "x > y",
    lambda: [
        Obligation("first", (X > Y,), X >= Y + 1),
        Obligation("second", (X > 2,), X > 1),
        Obligation("third", (), z3.BoolVal(True), "one text"),
    ],
    mutants=(Mutant("another", lambda: [Obligation("first", (X > Y,), X > Y + 1)]),),
)
REFUTED = replace(PROVED, expected="refuted", obligations=lambda: [Obligation("first", (X > 2,), X > 7)])


def entry_of(theorem: Theorem, solver: str) -> dict[str, Any]:
    (result,) = driver.prove([theorem], solver)
    return dict(record.entry(result))


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> None:
        raise RuntimeError("a solver was asked")

    monkeypatch.setattr(solvers, "ask", ask)


def test_an_answer_of_the_record_is_that_of_the_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statuses, hashes and confirmation are those of a run that asks."""
    entry = entry_of(PROVED, "all")
    asked = driver.prove_theorem(PROVED, "all", SolverCache(None))
    monkeypatch.setattr(solvers, "ask", None)
    for solver in ("all", "z3", "cvc5"):
        known = driver.prove_theorem(PROVED, solver, SolverCache(None), entry)
        assert (known.recorded, known.status, known.kind) == (True, "proved", "theorem")
        assert [(each.name, each.hash, each.status) for each in known.obligations] == [
            (each.name, each.hash, each.status) for each in asked.obligations
        ]
        assert known.confirmed is (solver == "all")
    assert not asked.recorded
    assert asked.confirmed


CHANGED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another question": lambda entry: entry | {"smt2_sha256": "0" * 64},
    "another version": lambda entry: entry | {"answers": {"z3 0.1: unsat": 2}},
    "fewer answers": lambda entry: entry | {"answers": dict.fromkeys(entry["answers"], 1)},
    "an answer that decides nothing": lambda entry: (
        entry | {"answers": {answer.replace("unsat", "unknown"): count for answer, count in entry["answers"].items()}}
    ),
    "another status": lambda entry: entry | {"status": "undecided"},
}


@each_case("what", list(CHANGED))
def test_what_the_record_does_not_say_is_asked(what: str) -> None:
    changed = CHANGED[what](entry_of(PROVED, "z3"))
    result = driver.prove_theorem(PROVED, "z3", SolverCache(None), changed)
    assert (result.recorded, result.status) == (False, "proved"), what
    assert all(each.answers for each in result.obligations if not each.computed), what


def test_a_solver_that_the_record_does_not_name_is_asked() -> None:
    result = driver.prove_theorem(PROVED, "all", SolverCache(None), entry_of(PROVED, "z3"))
    assert (result.recorded, result.confirmed) == (False, True)


@pytest.mark.usefixtures("no_solver")
def test_a_counterexample_is_never_taken_from_the_record() -> None:
    entry = {"status": "refuted", "smt2_sha256": "", "answers": {}}
    with pytest.raises(RuntimeError, match="a solver was asked"):
        driver.prove_theorem(REFUTED, "z3", SolverCache(None), entry)
