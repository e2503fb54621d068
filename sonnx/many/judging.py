"""Many models, each judged in a child process, several at a time: one that fails or hangs does not stop the others.

The work goes through an `Executor`: a thread for each job, which drives a child of its own.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace

from sonnx.many.isolation import INTERRUPTED, Answer, Bounds, Child, Task
from sonnx.many.resuming import Journal
from sonnx.many.stored import decode
from sonnx.misuse import Misuse
from sonnx.results import Results, Unjudged, Why
from sonnx.verdict import Report

Result = Unjudged | Report
"""The sentence on a model, or its report."""

Progress = Callable[[str], None]
"""Told after each model: how many are done, of how many, the verdicts so far, and its name."""


class Children:
    """One child for each thread that asks, and an end for all of them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.mine = threading.local()
        self.every: list[Child] = []
        self.closed = False

    def ask(self, task: Task) -> Answer:
        """The answer of the child of this thread."""
        if not hasattr(self.mine, "child"):
            self.mine.child = Child(self.bounds)
            self.every.append(self.mine.child)
        if self.closed:
            self.mine.child.closed = True
        answer: Answer = self.mine.child.ask(task)
        return answer

    def close(self) -> None:
        """End all children; what they were asked has no answer."""
        self.closed = True
        for child in self.every:
            child.close()


@contextmanager
def children_of(bounds: Bounds) -> Iterator[Children]:
    """Children that are gone when the block ends; no thread may ask any more."""
    children = Children(bounds)
    try:
        yield children
    finally:
        for child in children.every:
            child.stop()


@contextmanager
def threads(jobs: int) -> Iterator[Executor]:
    """An executor of so many threads that leaves what it has not begun when its block ends."""
    executor = ThreadPoolExecutor(jobs)
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def judge_all(
    tasks: Sequence[Task],
    jobs: int,
    bounds: Bounds,
    *,
    journal: Journal | None = None,
    progress: Progress = lambda _: None,
) -> Results:
    """Judge all models; an interrupt ends the run with what is there.

    Raises:
        Misuse: what a task asks for cannot be met.
    """
    kept = {} if journal is None else journal.answers(tasks)
    results = {task.model: _result(task, kept[task.model]) for task in tasks if task.model in kept}
    verdicts = Counter(map(_word, results.values()))
    interrupted = False
    with children_of(bounds) as children, threads(jobs) as executor:
        asked: dict[Future[Answer], Task] = {
            executor.submit(children.ask, each): each for each in tasks if each.model not in results
        }
        try:
            for done in as_completed(asked):
                task, answer = asked[done], done.result()
                if journal is not None and "misuse" not in answer:
                    journal.keep(task, answer)
                result = results[task.model] = _result(task, answer)
                verdicts[_word(result)] += 1
                numbers = ", ".join(f"{number} {word}" for word, number in sorted(verdicts.items()))
                progress(f"{len(results)}/{len(tasks)}  {numbers}  {task.model[-50:]}")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            for future in asked:
                future.cancel()
            children.close()
    return _in_order(tasks, results, interrupted)


def _result(task: Task, answer: Answer) -> Result:
    if "misuse" in answer:
        raise Misuse(answer["misuse"])
    if "why" not in answer:
        return replace(decode(answer["report"]), tailoring=task.asked.tailoring)
    why = Why(answer["why"])
    return Unjudged(answer["sentence"] if why is Why.UNREADABLE else f"{task.model!r} {answer['sentence']}", why)


def _word(result: Result) -> str:
    return result.why.word if isinstance(result, Unjudged) else str(result.verdict)


def _in_order(tasks: Sequence[Task], results: Mapping[str, Result], interrupted: bool) -> Results:
    made = Results(interrupted=interrupted)
    for task in tasks:
        model = task.model
        result = results[model] if model in results else _result(task, INTERRUPTED)
        if isinstance(result, Unjudged):
            made.unjudged[model] = result
        else:
            made.reports.append(result)
    return made
