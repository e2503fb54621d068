"""Proves theorems: asks solvers the questions of each theorem and combines their answers.

A theorem counts only if its hypotheses can hold, every obligation is decided, and the solvers agree.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.prover import solvers
from sonnx.prover.queries import Question, ask_solvers, questions_of, refuted
from sonnx.prover.recorded_answers import Entry, recorded
from sonnx.prover.results import SOLVERS, TheoremResult
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.theorem import Mutant, ReplayFailed, Theorem


class Unusable(UsageError):
    """An unknown theorem or a solver that is not installed: one sentence for the user."""


def select(theorems: Sequence[Theorem], wanted: Sequence[str]) -> tuple[Theorem, ...]:
    """The theorems with these identifiers or topics; all if none is named.

    Raises:
        Unusable: no theorem has such a name.
    """
    for name in wanted:
        if not any(_named(theorem, name) for theorem in theorems):
            raise Unusable(f"unknown theorem {name!r}; `sonnx theorems --list` lists the theorems")
    return tuple(theorem for theorem in theorems if not wanted or any(_named(theorem, name) for name in wanted))


def _named(theorem: Theorem, name: str) -> bool:
    return theorem.id == name or theorem.id.startswith(f"{name}.")


def require(names: Iterable[str]) -> None:
    """Refuse a solver that is not installed.

    Raises:
        Unusable: with the way to install it.
    """
    for name in names:
        if not solvers.installed(name):
            raise Unusable(f"The solver {name} is not installed; it comes with pip install 'sonnx[solvers]'.")


def require_solver(solver: str) -> None:
    """Refuse a solver, or one of "all" solvers, that is not installed.

    Raises:
        Unusable: with the way to install it.
    """
    require(SOLVERS if solver == "all" else (solver,))


def source_hash(theorem: Theorem) -> str:
    """The SHA-256 of the source texts a theorem is about; code objects differ between versions of Python."""
    texts = [source if isinstance(source, str) else _source_text(source) for source in theorem.sources]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@cache
def _source_text(source: Callable[..., Any]) -> str:
    """The source text, read once: many theorems are about one function, and the module of it is split into tokens."""
    return inspect.getsource(source)


def prove(
    theorems: Sequence[Theorem],
    solver: str = "z3",
    cache: SolverCache | None = None,
    progress: Callable[[str], None] = lambda _: None,
    entries: Mapping[str, Entry] | None = None,
    keep: Callable[[Sequence[Question]], None] = lambda _: None,
) -> Iterator[TheoremResult]:
    """The result of each theorem, in order, in this process; `entries` are those of the record, if it may answer.

    `keep` takes the questions of each theorem.

    Raises:
        Unusable: a solver is not installed.
    """
    require_solver(solver)
    answers = cache or SolverCache(None)
    for done, theorem in enumerate(theorems):
        progress(f"{done}/{len(theorems)}  {theorem.id}")
        yield prove_theorem(theorem, solver, answers, (entries or {}).get(theorem.id), keep)


def prove_theorem(
    theorem: Theorem,
    solver: str,
    cache: SolverCache,
    entry: Entry | None = None,
    keep: Callable[[Sequence[Question]], None] = lambda _: None,
) -> TheoremResult:
    """The result of one theorem; where an entry of the record has the answers, no solver is asked.

    `keep` takes its questions before they are asked.
    """
    asked = tuple(questions_of(theorem, solver, theorem.obligations))
    keep(asked)
    recorded_results = recorded(entry, asked)
    if recorded_results is not None:
        return TheoremResult(theorem, recorded_results, source_hash(theorem), recorded=True)
    obligations = ask_solvers(asked, cache)
    result = TheoremResult(theorem, obligations, source_hash(theorem))
    if result.status not in ("refuted", "found"):
        return result
    first = next(obligation for obligation in obligations if obligation.status == "refuted")
    values = next((answer.values for answer in first.answers if answer.values), ())
    replayed, unconfirmed = _replay(theorem, values)
    return TheoremResult(theorem, obligations, result.source, values, replayed, unconfirmed)


def refutes(theorem: Theorem, mutant: Mutant, cache: SolverCache | None = None) -> bool:
    """Whether at least one obligation of a mutant is refuted, so that the theorem detects the change."""
    answers = cache or SolverCache(None)
    asked = questions_of(theorem, "z3", mutant.obligations)
    return any(refuted([answers.ask("z3", question.text, small=False)]) for question in asked if not question.decided)


def _replay(theorem: Theorem, values: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """What the real code shows for a counterexample, or how it differs."""
    if theorem.replay is None or not values:
        return "", ""
    try:
        return theorem.replay(dict(values)), ""
    except ReplayFailed as difference:
        return "", str(difference)
