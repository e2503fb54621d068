"""One loop over the tasks of a run: executors run them, in threads of this process or on a Dask cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import AbstractContextManager, closing
from itertools import islice

from sonnx.base.budget import is_lack_of_memory
from sonnx.base.errors import UsageError
from sonnx.checker.report import NoVerdict
from sonnx.profile.profile_data import INSTALLED, in_use
from sonnx.workers.kept_answers import KeptAnswers
from sonnx.workers.processes import run_task
from sonnx.workers.tasks import Answer, Work, WorkerTask, WorkPlace
from sonnx.workers.worker_pool import WorkerPool, local_pool

POLL_SECONDS = 1.0
"""Seconds to wait for an answer before the pool is checked."""


def answers_to(
    tasks: Sequence[WorkerTask],
    work: Work,
    place: WorkPlace,
    *,
    kept: KeptAnswers | None = None,
    keep: Callable[[WorkerTask, Answer], None] = lambda *_: None,
    prepare: Callable[[Iterable[WorkerTask]], Iterable[WorkerTask]] = iter,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Answer], bool]:
    """The answers to all tasks by name, and whether the run was interrupted; then the rest is answered so.

    Args:
        tasks: tasks with different names.
        work: what is done for each.
        place: where.
        kept: has answers of earlier runs, and keeps new ones.
        keep: called with each new answer.
        prepare: completes tasks before they are submitted.
        progress: called after each answer.

    Raises:
        UsageError: an answer is that the options are wrong, or the cluster cannot be used.
        OSError: the file of kept answers cannot be written.
    """
    answers = {} if kept is None else kept.answers(tasks)
    words = Counter(map(word, answers.values()))
    open_tasks = [task for task in tasks if task.name not in answers]
    interrupted = False
    with worker_pool(work, place, len(tasks)) as pool, closing(as_completed(prepare(open_tasks), pool)) as completed:
        try:
            for task, answer in completed:
                answers[task.name] = answer  # first, so that an interrupt during the next line does not lose it
                if kept is not None:
                    kept.keep(task, answer)
                keep(task, answer)
                words[word(answer)] += 1
                done = counted(len(answers), len(tasks), words)
                progress(f"{done}  {task.name[-50:]}")
        except KeyboardInterrupt:
            interrupted = True
    return {task.name: answers.get(task.name, work.interrupted) for task in tasks}, interrupted


def word(answer: Answer) -> str:
    """The kind of an answer in one word."""
    return str(answer["word"]) if "word" in answer else NoVerdict(answer["why"]).word


def counted(done: int, of: int, words: Mapping[str, int]) -> str:
    """The progress of a run, and the number of results of each kind."""
    return f"{done}/{of}  {', '.join(f'{number} {word}' for word, number in sorted(words.items()))}"


def worker_pool(work: Work, place: WorkPlace, tasks: int | None = None) -> AbstractContextManager[WorkerPool]:
    """The workers of a place, for a number of tasks; None for many.

    Raises:
        UsageError: another profile than that of the installation is in use, which the workers would not know.
    """
    if in_use() is not INSTALLED:
        raise UsageError("child processes read the profile of the installation; another one is for this process alone")
    if place.cluster is None:
        jobs = place.jobs or os.cpu_count() or 1
        return local_pool(work, jobs if tasks is None else max(1, min(jobs, tasks)))
    from sonnx.workers.cluster import cluster_pool  # most runs need none

    return cluster_pool(work, place)


def as_completed(tasks: Iterable[WorkerTask], pool: WorkerPool) -> Generator[tuple[WorkerTask, Answer], None, None]:
    """Each task with its answer, in the order of completion; tasks are taken as workers become free.

    The tasks may end and go on while answers come.

    Raises:
        UsageError: an answer is that the options are wrong.
    """
    waiting, submitted = iter(tasks), dict[Future[Answer], WorkerTask]()
    work = pool.run.work
    try:
        while not (why := pool.lost()):
            submitted |= {
                pool.executor.submit(run_task, pool.run, task): task
                for task in islice(waiting, pool.width - len(submitted))
            }
            if not submitted:
                return
            for future in wait(submitted, POLL_SECONDS, FIRST_COMPLETED).done:
                yield submitted.pop(future), _answer(future, pool)
        for future in [task for task in submitted if task.done()]:
            yield submitted.pop(future), _answer(future, pool)
        yield from ((task, work.failure(NoVerdict.STOPPED, f": {why}")) for task in [*submitted.values(), *waiting])
    finally:
        for future in submitted:
            future.cancel()
        pool.close()


def _answer(future: Future[Answer], pool: WorkerPool) -> Answer:
    try:
        answer = future.result()
    except CancelledError:
        return pool.run.work.failure(NoVerdict.STOPPED, f": {pool.lost() or 'the cluster cancelled it'}")
    except Exception as error:  # noqa: BLE001  third-party executors may raise anything; only this task fails
        work = pool.run.work
        if is_lack_of_memory(error, work.bounds.memory):
            return work.failure(NoVerdict.STOPPED, ": the memory of this machine does not suffice")
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return work.failure(NoVerdict.FAILED, f": the cluster failed ({text[:300]})")
    if "misuse" in answer:
        raise UsageError(answer["misuse"])
    return answer
