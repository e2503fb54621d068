"""Answers of the record that comes with the theorems, for the same questions and the same versions of the solvers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sonnx.prover import solvers
from sonnx.prover.results import ObligationResult, SolverAnswer

if TYPE_CHECKING:
    from sonnx.prover.queries import Question

Entry = Mapping[str, Any]
"""What a record has of one theorem."""


def questions_hash(named: Iterable[tuple[str, str]]) -> str:
    """One hash of all questions of a theorem: of their names and the hashes of their texts."""
    return hashlib.sha256("".join(f"{name}\t{text}\n" for name, text in named).encode()).hexdigest()


def asks_the_same(entry: Entry | None, asked: Sequence[Question]) -> bool:
    """Whether an entry is about these questions."""
    return entry is not None and entry["smt2_sha256"] == questions_hash(
        (question.name, question.hash) for question in asked
    )


def answered_by_these_versions(entry: Entry, names: Iterable[str]) -> bool:
    """Whether every answer of an entry is that of an installed version of one of these solvers."""
    current = {f"{name} {solvers.installed(name)}" for name in names}
    return all(answer.rpartition(":")[0] in current for answer in entry["answers"])


def recorded(entry: Entry | None, asked: Sequence[Question]) -> tuple[ObligationResult, ...] | None:
    """The results of the questions of a proved theorem, None where the record does not have them.

    An entry counts the answers of all questions together, so it tells the answer to each only where all are "unsat".
    That the hypotheses can hold is part of a recorded status "proved".
    """
    if entry is None or entry["status"] != "proved" or not asks_the_same(entry, asked):
        return None
    open_questions = sum(not question.decided for question in asked)
    counted = {answer: count for answer, count in entry["answers"].items() if answer.split()[0] in asked[0].solvers}
    versions = [f"{name} {solvers.installed(name)}" for name in asked[0].solvers]
    if open_questions and counted != {f"{name}: unsat": open_questions for name in versions}:
        return None
    if any(question.obligation.trivial and not question.obligation.computed for question in asked):
        return None
    answers = tuple(SolverAnswer(name, solvers.installed(name), "unsat") for name in asked[0].solvers)
    return tuple(
        ObligationResult(
            question.name, question.hash, () if question.decided else answers, question.obligation.computed
        )
        for question in asked
    )
