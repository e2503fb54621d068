"""The work of a child that judges models: from a request to a report as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.files import sha256
from sonnx.base.progress import bar
from sonnx.checker.report import BatchResult, Report, Unjudged, Why
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.checker.tailoring import Tailoring
from sonnx.model.ir import Model
from sonnx.model.reader import Unreadable, mapped, read
from sonnx.profile import catalogue
from sonnx.workers.crews import Crew, answers, counted
from sonnx.workers.journal import Journal
from sonnx.workers.stored import decode, encode
from sonnx.workers.tasks import Answer, Task


def request_of(asked: CheckRequest, tailoring: str | None, hashed: bool, drawn: bool) -> dict[str, Any]:
    """All but the model, as JSON.

    Args:
        asked: what is asked of the model.
        tailoring: the file of the tailoring, which the child reads again.
        hashed: whether the hash of what is judged is wanted.
        drawn: whether the outline of its graph is wanted.
    """
    return {
        "edition": asked.edition, "bind": dict(asked.bind), "select": asked.select, "ignore": asked.ignore,
        "strict_versions": asked.strict_versions, "limits": dict(asked.limits),
        "tailoring": [tailoring, asked.tailoring.sha256] if tailoring and asked.tailoring else None,
        "hashed": hashed, "drawn": drawn,
    }  # fmt: skip


def prepare() -> None:
    """Read the rules, so that it is no part of the first model's time."""
    catalogue.editions()


def answer(request: Mapping[str, Any], content: bytes) -> Answer:
    """The report, or why there is none.

    Besides what `request_of` says, a request has the `model`, a path, or a name where it is `inline`: the content then;
    and with `sha256` the hash that the file must have.

    Raises:
        Misuse: what is asked for cannot be met.
    """
    rest = dict(request)
    name, inline, hashed, drawn, tailoring = map(rest.pop, ("model", "inline", "hashed", "drawn", "tailoring"))
    wanted = rest.pop("sha256", None)
    asked = CheckRequest(**rest, tailoring=_tailoring(tailoring))
    try:
        model, digest = _opened(content if inline else name, hashed, asked, wanted)
    except _Other as other:
        return {"sentence": str(other), "why": Why.STOPPED}
    except Unreadable as error:
        return {"sentence": str(error), "why": Why.UNREADABLE}
    report = check_model(model, digest, asked, name, drawn)
    return {"report": encode(replace(report, tailoring=None))}  # the parent has it


def with_hashes(tasks: Iterable[Task]) -> Iterator[Task]:
    """The tasks with the hashes of their files, for children that may see other files; "" where none can be read."""
    for task in tasks:
        if task.content is None:
            request = {**task.request, "sha256": _sha256(task.name)}
            yield replace(task, request=request)
        else:
            yield task


def _sha256(path: str) -> str:
    try:
        return sha256(mapped(path, repr(path)))
    except Unreadable:
        return ""


class _Other(Exception):
    """The file is not the one that was meant."""


def _opened(source: str | bytes, hashed: bool, asked: CheckRequest, wanted: str | None) -> tuple[Model, str]:
    if wanted is None or isinstance(source, bytes):
        return open_model(source, hashed, asked.limits)
    name = repr(source)
    data = mapped(source, name)
    if sha256(data) != wanted:
        raise _Other("was not judged: where it was to be judged its file is another one, by its SHA-256")
    return read(data, name, asked.limits), wanted if hashed else ""


def _tailoring(file: Sequence[str] | None) -> Any:
    if file is None:
        return None
    from sonnx.checker import tailoring  # most runs have none

    path, wanted = file
    read_again = tailoring.read(path)
    if read_again.sha256 != wanted:
        raise UsageError(f"{path} is another file than when the run began, or where the models are judged")
    return read_again


# ------------------------------------------------------------------
# Many models, each judged in a child process, several at a time: one that fails or hangs does not stop the others.


Result = Unjudged | Report
"""The sentence on a model, or its report."""

Progress = Callable[[str], None]
"""Told after each task: how many are done, of how many, what came out so far, and its name."""


def judge_all(
    tasks: Sequence[Task],
    crew: Crew,
    prepare: Callable[[Iterable[Task]], Iterable[Task]] = iter,
    *,
    tailoring: Tailoring | None = None,
    journal: Journal | None = None,
    progress: Progress = lambda _: None,
) -> BatchResult:
    """Judge all models; an interrupt ends the run with what is there.

    Args:
        tasks: the models.
        crew: who judges them.
        prepare: what is done to a task before it is given away.
        tailoring: the one that is asked for.
        journal: where answers are kept.
        progress: told after each model.

    Raises:
        Misuse: what a task asks for cannot be met.
    """
    kept = {} if journal is None else journal.answers(tasks)
    results = {task.name: _result(task, kept[task.name], tailoring) for task in tasks if task.name in kept}
    verdicts = Counter(map(_word, results.values()))
    open_tasks = [task for task in tasks if task.name not in results]
    interrupted = False
    with closing(answers(prepare(open_tasks), crew)) as coming:
        try:
            for task, answer in coming:
                if journal is not None:
                    journal.keep(task, answer)
                result = results[task.name] = _result(task, answer, tailoring)
                verdicts[_word(result)] += 1
                progress(
                    f"{bar(len(results), len(tasks))} {counted(len(results), len(tasks), verdicts)}  {task.name[-50:]}"
                )
        except KeyboardInterrupt:
            interrupted = True
    rest = {task.name: _result(task, crew.work.interrupted, None) for task in tasks if task.name not in results}
    return _in_order(tasks, results | rest, interrupted)


def _result(task: Task, answer: Answer, tailoring: Tailoring | None) -> Result:
    if "misuse" in answer:
        raise UsageError(answer["misuse"])
    if "why" not in answer:
        return replace(decode(answer["report"]), tailoring=tailoring)
    why = Why(answer["why"])
    return Unjudged(answer["sentence"] if why is Why.UNREADABLE else f"{task.name!r} {answer['sentence']}", why)


def _word(result: Result) -> str:
    return result.why.word if isinstance(result, Unjudged) else str(result.verdict)


def _in_order(tasks: Sequence[Task], results: Mapping[str, Result], interrupted: bool) -> BatchResult:
    made = BatchResult(interrupted=interrupted)
    for task in tasks:
        result = results[task.name]
        if isinstance(result, Unjudged):
            made.unjudged[task.name] = result
        else:
            made.reports.append(result)
    return made
