"""Proving: every theorem is asked of the solvers, and what they answer is put together.

A theorem counts only where its hypotheses can hold, every obligation is decided, and the solvers agree.  The solvers
and the theorems stand in `proofs/`, which is walked when it is asked for: nothing here knows a theorem by name.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.resources import folder
from sonnx.checker.report import Unjudged
from sonnx.prover.queries import Checked, judge, questions
from sonnx.prover.solver_cache import Answers

SOLVERS = ("z3", "cvc5", "bitwuzla")


class Unusable(UsageError):
    """An unknown theorem or an absent solver: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class TheoremResult:
    """A theorem, its obligations as judged, and for a refuted one the counterexample as the real code shows it."""

    theorem: Any
    obligations: tuple[Checked, ...]
    source: str
    """The hash of the source texts the theorem is about."""
    counterexample: tuple[tuple[str, int], ...] = ()
    replayed: str = ""
    unconfirmed: str = ""
    unanswered: Unjudged | None = None
    """Why there is no answer, where its process gave none."""

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
        if not import_module("sonnx.prover.solvers").installed(solver):
            raise Unusable(f"The solver {solver} is not installed; it comes with pip install 'sonnx[solvers]'.")


def require_solver(solver: str) -> None:
    """Refuse where one that is asked for, "all" of them perhaps, is absent.

    Raises:
        Unusable: with the way to install it.
    """
    require(SOLVERS if solver == "all" else (solver,))


def source_hash(theorem: Any) -> str:
    """The hash of the source texts a theorem is about: of texts, because code objects differ between Pythons."""
    texts = [each if isinstance(each, str) else inspect.getsource(each) for each in theorem.sources]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def prove(
    found: Sequence[Any],
    solver: str = "z3",
    answers: Answers | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[TheoremResult]:
    """Each theorem with its outcome, in order, in this process.

    Raises:
        Unusable: where a solver is absent.
    """
    require_solver(solver)
    known = answers or Answers(None)
    for done, theorem in enumerate(found):
        progress(f"{done}/{len(found)}  {theorem.id}")
        yield outcome(theorem, solver, known)


def refutes(theorem: Any, mutant: Any, known: Answers | None = None) -> bool:
    """Whether at least one obligation of a mutant is refuted: the theorem notices the change."""
    asked = questions(theorem, "z3", mutant.obligations)
    return any(judge(question, known or Answers(None)).status == "refuted" for question in asked)


def outcome(theorem: Any, solver: str, answers: Answers) -> TheoremResult:
    """What becomes of a theorem."""
    asked = questions(theorem, solver, theorem.obligations)
    judged = tuple(judge(question, answers) for question in asked)
    made = TheoremResult(theorem, judged, source_hash(theorem))
    if made.status != "refuted":
        return made
    first = next(each for each in judged if each.status == "refuted")
    values = next((answer.values for answer in first.answers if answer.values), ())
    said, unconfirmed = _replay(theorem, values)
    return TheoremResult(theorem, judged, made.source, values, said, unconfirmed)


def _replay(theorem: Any, values: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """What the real code shows on a counterexample, or why it does not show it."""
    if theorem.replay is None or not values:
        return "", ""
    try:
        return theorem.replay(dict(values)), ""
    except import_module("sonnx.prover.theorem").Unconfirmed as difference:
        return "", str(difference)
