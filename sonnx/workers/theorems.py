"""Proving many theorems in child processes: the work of a child, and the run in the parent."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import convert, to_builtins

from sonnx.base.errors import UsageError
from sonnx.checker.report import NoVerdict, NoVerdictSentence
from sonnx.proofs import registry
from sonnx.prover import driver, record
from sonnx.prover.queries import Question, questions_of
from sonnx.prover.recorded_answers import Entry, questions_hash
from sonnx.prover.results import PACKAGES, ObligationResult, TheoremResult
from sonnx.prover.solver_cache import SolverCache, usual_folder
from sonnx.prover.theorem import Theorem
from sonnx.workers.pools import answers_to
from sonnx.workers.tasks import HERE, Answer, Work, WorkerTask, WorkPlace
from sonnx.workers.theorem_questions import QuestionFiles

__all__ = ["answer", "prepare", "prove_theorems", "question_hashes", "select", "usual_folder"]

# ------------------------------------------------------------------ in the parent process


def select(names: Sequence[str]) -> tuple[Theorem, ...]:
    """The theorems with these ids or topics, all without names.

    Raises:
        UsageError: an unknown name.
    """
    return driver.select(registry.among(names), names)


def prove_theorems(
    theorems: Sequence[Theorem],
    solver: str,
    cache: Path | None,
    place: WorkPlace = HERE,
    progress: Callable[[str], None] = lambda _: None,
    *,
    recorded: bool = False,
    files: QuestionFiles | None = None,
) -> tuple[tuple[TheoremResult, ...], bool]:
    """Prove theorems in child processes, or a single one in this process where nothing limits it.

    An interrupt ends the run with the results so far.

    Args:
        theorems: theorems of this installation.
        solver: z3, cvc5, bitwuzla, or all.
        cache: the folder of known answers, or None.
        place: where they are proved; 0 jobs for this process.
        progress: called after each theorem, or each group of theorems where nothing limits one.
        recorded: whether the record that comes with the theorems may answer in place of solvers.
        files: where the questions are written, by the processes that ask them; on a cluster they write none.

    Returns:
        The results in the order of the theorems, those without an answer with the reason; and whether the run was
        interrupted.

    Raises:
        UsageError: a solver is not installed, or the cluster cannot be used.
    """
    driver.require_solver(solver)
    if place.jobs == 0 or (len(theorems) < 2 and place.timeout is None and place.cluster is None):
        entries = _record() if recorded else {}
        keep = _drop if files is None else files.keep
        return tuple(driver.prove(theorems, solver, SolverCache(cache), progress, entries, keep)), False
    request = {"solver": solver, "cache": None if cache is None else str(cache), "recorded": recorded}
    if files is not None and place.cluster is None:
        request |= {"questions": str(files.folder)}
    groups = _groups(theorems, place.timeout)
    answers, interrupted = _asked(groups, request, place, progress)
    failed = {name: [name] for name, answer in answers.items() if "why" in answer and name not in groups}
    if failed and not interrupted:
        # One theorem may have ended the process of its group.
        answers_alone, interrupted = _asked(failed, request, place, progress)
        answers |= answers_alone
    if files is not None:
        files.lines.update({name: answer.pop("listed") for name, answer in answers.items() if "listed" in answer})
    return tuple(_result(theorem, answers[theorem.id]) for theorem in theorems), interrupted


def question_hashes(
    theorems: Sequence[Theorem], place: WorkPlace = HERE, progress: Callable[[str], None] = lambda _: None
) -> Mapping[str, str]:
    """The hash of the questions of each theorem, as in the record; no solver is asked, and 0 jobs are this process.

    Raises:
        UsageError: a theorem has no answer.
    """
    if place.jobs == 0:
        return {theorem.id: _hash(theorem) for theorem in theorems}
    answers, _ = _asked(_groups(theorems, place.timeout), {"hashes": True}, place, progress)
    lacking = next((f"{name} {answer['sentence']}" for name, answer in answers.items() if "why" in answer), None)
    if lacking is not None:
        raise UsageError(lacking)
    return {name: answer["smt2_sha256"] for name, answer in answers.items()}


def _asked(
    groups: Mapping[str, list[str]], request: Mapping[str, Any], place: WorkPlace, progress: Callable[[str], None]
) -> tuple[dict[str, Answer], bool]:
    """The answer for each theorem, and whether the run was interrupted; the longest group first."""
    work = Work("sonnx.workers.theorems", "decided", tuple(PACKAGES.values()), place.bounds())
    tasks = [
        WorkerTask(group, {"theorems": names, **request})
        for group, names in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    answers, interrupted = answers_to(tasks, work, place, progress=progress)
    by_theorem = {name: answers[group].get(name, answers[group]) for group, names in groups.items() for name in names}
    return by_theorem, interrupted


def _groups(theorems: Sequence[Theorem], timeout: float | None) -> Mapping[str, list[str]]:
    """The theorems of one task: where nothing limits each, those about one operator, whose terms are made once."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(theorem.id for theorem in theorems):
        together = name.startswith("derived.") and timeout is None
        groups.setdefault(name.partition("-")[0] if together else name, []).append(name)
    return groups


def _result(theorem: Theorem, answer: Answer) -> TheoremResult:
    if "why" in answer:
        unanswered = NoVerdictSentence(f"{theorem.id} {answer['sentence']}", NoVerdict(answer["why"]))
        return TheoremResult(theorem, (), "", unanswered=unanswered)
    return decode(theorem, answer)


# ------------------------------------------------------------------ in a child process


def prepare() -> None:
    """Load the stated theorems, which the garbage collector then need not visit again."""
    _registered()
    gc.freeze()


def answer(request: Mapping[str, Any]) -> Answer:
    """The results for theorems by name, as JSON without the theorems; or the hashes of their questions."""
    if "hashes" in request:
        return {"word": "asked"} | {name: {"smt2_sha256": _hash(_registered()[name])} for name in request["theorems"]}
    cache, entries = _answers(request["cache"]), _record() if request["recorded"] else {}
    files = QuestionFiles(Path(request["questions"])) if "questions" in request else None
    keep = _drop if files is None else files.offer
    results = {
        name: driver.prove_theorem(_registered()[name], request["solver"], cache, entries.get(name), keep)
        for name in request["theorems"]
    }
    lines = {} if files is None else files.lines
    statuses = {result.status for result in results.values()}
    return {"word": "decided" if len(statuses) > 1 else statuses.pop()} | {
        name: encode(result) | ({"listed": lines[name]} if name in lines else {}) for name, result in results.items()
    }


def _drop(_: Sequence[Question]) -> None:
    """Write no questions."""


def _hash(theorem: Theorem) -> str:
    return questions_hash(
        (question.name, question.hash) for question in questions_of(theorem, "all", theorem.obligations)
    )


class _Theorems(dict[str, Theorem]):
    """Theorems by identifier; the derived ones are made when the first of them is asked for."""

    def __missing__(self, name: str) -> Theorem:
        every = {theorem.id: theorem for theorem in registry.theorems()}
        self.update(every)
        gc.freeze()
        return every[name]


@cache
def _registered() -> dict[str, Theorem]:
    return _Theorems((theorem.id, theorem) for theorem in registry.stated())


@cache
def _record() -> Mapping[str, Entry]:
    return record.read(record.usual_path())


@cache
def _answers(folder: str | None) -> SolverCache:
    return SolverCache(None if folder is None else Path(folder))


KEPT = ("source", "replayed", "unconfirmed", "recorded")
"""Parts of a result that are sent as they are."""


def encode(result: TheoremResult) -> Answer:
    """A result as JSON, without its theorem."""
    parts = {"obligations": result.obligations, "counterexample": result.counterexample}
    return {**to_builtins(parts), **{name: getattr(result, name) for name in KEPT}}


def decode(theorem: Theorem, data: Answer) -> TheoremResult:
    """The result from which `encode` made the data."""
    obligations = convert(data["obligations"], tuple[ObligationResult, ...])
    counterexample = convert(data["counterexample"], tuple[tuple[str, int], ...])
    return TheoremResult(theorem, obligations, counterexample=counterexample, **{name: data[name] for name in KEPT})
