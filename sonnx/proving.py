"""Proving: every theorem is asked of the solvers, and what they answer is put together.

A theorem counts only where its hypotheses can hold, every obligation is decided, and the solvers agree.  The solvers
and the theorems stand in `proofs/`, which is walked when it is asked for: nothing here knows a theorem by name.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from itertools import groupby
from multiprocessing import get_context
from typing import Any

from sonnx.answers import Answers
from sonnx.asking import Judged, judge, questions
from sonnx.data import folder
from sonnx.misuse import Misuse

SOLVERS = ("z3", "cvc5", "bitwuzla")


class Unusable(Misuse):
    """An unknown theorem or an absent solver: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A theorem, its obligations as judged, and for a refuted one the counterexample as the real code shows it."""

    theorem: Any
    obligations: tuple[Judged, ...]
    source: str
    """The hash of the source texts the theorem is about."""
    counterexample: tuple[tuple[str, int], ...] = ()
    replayed: str = ""
    unconfirmed: str = ""

    @property
    def status(self) -> str:
        """The status of the worst obligation: vacuous, undecided, refuted, proved."""
        found = {each.status for each in self.obligations}
        return next((s for s in ("vacuous", "undecided", "refuted", "proved") if s in found), "undecided")

    @property
    def expected(self) -> bool:
        """The theorem came out as it states, and the real code shows its counterexample."""
        return bool(self.status == self.theorem.expected and not self.unconfirmed)

    @property
    def confirmed(self) -> bool:
        """A second solver decided every obligation that decides the theorem."""
        deciding = [each for each in self.obligations if each.status == self.status]
        return bool(deciding) and all(each.confirmed for each in deciding)


def theorems() -> tuple[Any, ...]:
    """Every theorem of `proofs/`, by identifier."""
    return _walk()


@cache
def _walk() -> tuple[Any, ...]:
    modules = [import_module(f"sonnx.proofs.{path.stem}") for path in sorted(folder("proofs").glob("[a-z]*.py"))]
    found = [
        _concerning(module, each) for module in modules if hasattr(module, "theorems") for each in module.theorems()
    ]
    return tuple(sorted(found, key=lambda theorem: str(theorem.id)))


def _concerning(module: Any, theorem: Any) -> Any:
    """The theorem with the operators its module is about, where it names none itself."""
    concerns = getattr(module, "CONCERNS", ())
    return theorem if theorem.concerns or not concerns else replace(theorem, concerns=concerns)


def select(found: Sequence[Any], wanted: Sequence[str]) -> tuple[Any, ...]:
    """The theorems of the identifiers or topics named; all where none is.

    Raises:
        Unusable: where a name is of no theorem.
    """
    for name in wanted:
        if not any(_named(theorem, name) for theorem in found):
            raise Unusable(f"There is no theorem {name!r}; sonnx prove --list names them all.")
    return tuple(theorem for theorem in found if not wanted or any(_named(theorem, name) for name in wanted))


def _named(theorem: Any, name: str) -> bool:
    return bool(theorem.id == name or theorem.id.startswith(f"{name}."))


def require(solvers: Iterable[str]) -> None:
    """Refuse where a solver is absent.

    Raises:
        Unusable: with the way to install it.
    """
    for solver in solvers:
        if not import_module("sonnx.proofs.solving").installed(solver):
            raise Unusable(f"The solver {solver} is not installed; it comes with pip install 'sonnx[solvers]'.")


def source_hash(theorem: Any) -> str:
    """The hash of the source texts a theorem is about: of texts, because code objects differ between Pythons."""
    texts = [each if isinstance(each, str) else inspect.getsource(each) for each in theorem.sources]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def prove(
    found: Sequence[Any],
    solver: str = "z3",
    answers: Answers | None = None,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Outcome]:
    """Each theorem with its outcome, in order.

    Raises:
        Unusable: where a solver is absent.
    """
    require(SOLVERS if solver == "all" else (solver,))
    outcomes = _outcomes(found, solver, answers or Answers(None), jobs)
    for done, (theorem, outcome) in enumerate(zip(found, outcomes, strict=True), 1):
        progress(f"{done} of {len(found)} theorems")
        yield replace(outcome, theorem=theorem)


def refutes(theorem: Any, mutant: Any, known: Answers | None = None) -> bool:
    """Whether at least one obligation of a mutant is refuted: the theorem notices the change."""
    asked = questions(theorem, "z3", mutant.obligations)
    return any(judge(question, known or Answers(None)).status == "refuted" for question in asked)


def _outcomes(found: Sequence[Any], solver: str, answers: Answers, jobs: int) -> Iterator[Outcome]:
    """In several processes where each can make the theorems itself: those given may be others of the same names."""
    if jobs <= 1 or len(found) < 2 or any(_registered().get(theorem.id) is not theorem for theorem in found):
        yield from (_outcome(theorem, solver, answers) for theorem in found)
        return
    parts = [tuple(theorem.id for theorem in part) for _, part in groupby(found, _subject)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for outcomes in pool.map(partial(_elsewhere, solver, answers.folder), parts):
            yield from outcomes


def _subject(theorem: Any) -> tuple[str, ...]:
    """The first two parts of an identifier: theorems that share their variables stand together."""
    return tuple(theorem.id.split(".")[:2])


def _elsewhere(solver: str, kept: Any, names: Sequence[str]) -> list[Outcome]:
    """Outcomes without their theorems, which do not travel between processes."""
    answers = Answers(kept)
    return [replace(_outcome(_registered()[name], solver, answers), theorem=None) for name in names]


@cache
def _registered() -> dict[str, Any]:
    return {theorem.id: theorem for theorem in _walk()}


def _outcome(theorem: Any, solver: str, answers: Answers) -> Outcome:
    asked = questions(theorem, solver, theorem.obligations)
    judged = tuple(judge(question, answers) for question in asked)
    outcome = Outcome(theorem, judged, source_hash(theorem))
    if outcome.status != "refuted":
        return outcome
    first = next(each for each in judged if each.status == "refuted")
    values = next((answer.values for answer in first.answers if answer.values), ())
    said, unconfirmed = _replay(theorem, values)
    return Outcome(theorem, judged, outcome.source, values, said, unconfirmed)


def _replay(theorem: Any, values: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """What the real code shows on a counterexample, or why it does not show it."""
    if theorem.replay is None or not values:
        return "", ""
    try:
        return theorem.replay(dict(values)), ""
    except import_module("sonnx.proofs.theorem").Unconfirmed as difference:
        return "", str(difference)
