"""Many models, each judged in a child process, several at a time: one that fails or hangs does not stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from sonnx.many.crews import Crew, answers, counted
from sonnx.many.resuming import Journal
from sonnx.many.stored import decode
from sonnx.many.work import Answer, Task
from sonnx.misuse import Misuse
from sonnx.progress import bar
from sonnx.results import Results, Unjudged, Why
from sonnx.tailoring import Tailoring
from sonnx.verdict import Report

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
) -> Results:
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
        raise Misuse(answer["misuse"])
    if "why" not in answer:
        return replace(decode(answer["report"]), tailoring=tailoring)
    why = Why(answer["why"])
    return Unjudged(answer["sentence"] if why is Why.UNREADABLE else f"{task.name!r} {answer['sentence']}", why)


def _word(result: Result) -> str:
    return result.why.word if isinstance(result, Unjudged) else str(result.verdict)


def _in_order(tasks: Sequence[Task], results: Mapping[str, Result], interrupted: bool) -> Results:
    made = Results(interrupted=interrupted)
    for task in tasks:
        result = results[task.name]
        if isinstance(result, Unjudged):
            made.unjudged[task.name] = result
        else:
            made.reports.append(result)
    return made
