"""Many theorems, each proved in a child process: the side that asks for outcomes, and the one that gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.progress import bar
from sonnx.checker.report import Unjudged, Why
from sonnx.proofs import registry
from sonnx.prover import driver
from sonnx.prover.results import PACKAGES, ObligationResult, SolverAnswer, TheoremResult
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.theorem import Theorem
from sonnx.workers.crews import Crew, answers, counted
from sonnx.workers.tasks import Answer, Bounds, Task, Work


def work(timeout: float | None) -> Work:
    """Proving theorems, each within so many seconds; how far a solver goes is bounded by its steps in any case."""
    return Work("sonnx.workers.theorems", "decided", tuple(PACKAGES.values()), Bounds(timeout))


@dataclass(frozen=True, slots=True)
class Proofs:
    """What a run gives: every theorem with its outcome, in order; those without an answer say why."""

    outcomes: tuple[TheoremResult, ...]
    interrupted: bool


def prove_all(
    found: Sequence[Theorem],
    solver: str,
    kept: Path | None,
    crew: Crew,
    progress: Callable[[str], None] = lambda _: None,
) -> Proofs:
    """Prove theorems that the tool comes with; an interrupt ends the run with what is there.

    Raises:
        Misuse: a solver is absent.
    """
    driver.require_solver(solver)
    theorems = {theorem.id: theorem for theorem in found}
    folder = None if kept is None else str(kept)
    tasks = [Task(name, {"theorem": name, "solver": solver, "kept": folder}) for name in theorems]
    made: dict[str, TheoremResult] = {}
    statuses: Counter[str] = Counter()
    interrupted = False
    with closing(answers(tasks, crew)) as coming:
        try:
            for task, answer in coming:
                outcome = made[task.name] = _outcome(theorems[task.name], answer)
                statuses[outcome.status] += 1
                progress(f"{bar(len(made), len(tasks))} {counted(len(made), len(tasks), statuses)}  {task.name}")
        except KeyboardInterrupt:
            interrupted = True
    rest = {name: _outcome(theorems[name], crew.work.interrupted) for name in theorems if name not in made}
    return Proofs(tuple((made | rest)[theorem.id] for theorem in found), interrupted)


def _outcome(theorem: Theorem, answer: Answer) -> TheoremResult:
    if "misuse" in answer:
        raise UsageError(answer["misuse"])
    if "why" in answer:
        unanswered = Unjudged(f"{theorem.id} {answer['sentence']}", Why(answer["why"]))
        return TheoremResult(theorem, (), "", unanswered=unanswered)
    return decode(theorem, answer)


def prepare() -> None:
    """Make the theorems."""
    _registered()


def answer(request: Mapping[str, Any], content: bytes) -> Answer:
    """What a child answers: the outcome of a theorem, without the theorem."""
    theorem = _registered()[request["theorem"]]
    return encode(driver.prove_theorem(theorem, request["solver"], _answers(request["kept"])))


@cache
def _registered() -> dict[str, Theorem]:
    return {theorem.id: theorem for theorem in registry.theorems()}


@cache
def _answers(folder: str | None) -> SolverCache:
    return SolverCache(None if folder is None else Path(folder))


def encode(outcome: TheoremResult) -> Answer:
    """An outcome as JSON, without its theorem."""
    return {
        "obligations": [asdict(each) for each in outcome.obligations],
        "source": outcome.source,
        "counterexample": outcome.counterexample,
        "replayed": outcome.replayed,
        "unconfirmed": outcome.unconfirmed,
    }


def decode(theorem: Theorem, data: Answer) -> TheoremResult:
    """The outcome `encode` was given, of its theorem."""
    judged = []
    for each in data["obligations"]:
        said = [
            SolverAnswer(solver, version, result, effort, _pairs(values), steps, trusted)
            for solver, version, result, effort, values, steps, trusted in each["answers"]
        ]
        judged.append(ObligationResult(each["name"], each["hash"], tuple(said), each["vacuous"]))
    rest = {**data, "obligations": tuple(judged), "counterexample": _pairs(data["counterexample"])}
    return TheoremResult(theorem=theorem, **rest)


def _pairs(data: Sequence[Sequence[Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((name, value) for name, value in data)
