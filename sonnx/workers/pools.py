"""One loop over the tasks of a run: executors run them, in threads of this process or on a Dask cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice

from sonnx.base.budget import is_lack_of_memory
from sonnx.base.errors import UsageError
from sonnx.base.progress import progress_bar
from sonnx.checker.report import NoVerdict
from sonnx.workers.journal import Journal
from sonnx.workers.processes import Run, end_run, forget_run, run_task
from sonnx.workers.tasks import Answer, Place, Task, Work

POLL_SECONDS = 1.0
"""Seconds to wait for an answer before the pool is checked."""


@dataclass(frozen=True)
class WorkerPool:
    """An executor, and the run whose tasks it does."""

    run: Run
    executor: Executor
    width: int
    """How many tasks are submitted at a time."""
    close: Callable[[], None]
    """End all child processes at once."""
    lost: Callable[[], str] = lambda: ""
    """Why no more answers can come, "" if they can."""


def answers_to(
    tasks: Sequence[Task],
    work: Work,
    place: Place,
    *,
    journal: Journal | None = None,
    prepare: Callable[[Iterable[Task]], Iterable[Task]] = iter,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Answer], bool]:
    """The answers to all tasks by name, and whether the run was interrupted; then the rest is answered so.

    Args:
        tasks: tasks with different names.
        work: what is done for each.
        place: where.
        journal: has answers of earlier runs, and keeps new ones.
        prepare: completes tasks before they are submitted.
        progress: called after each answer.

    Raises:
        UsageError: an answer is that the options are wrong, or the cluster cannot be used.
        OSError: the journal cannot be written.
    """
    made = {} if journal is None else journal.answers(tasks)
    words = Counter(map(word, made.values()))
    open_tasks = [task for task in tasks if task.name not in made]
    interrupted = False
    with _pool(work, place, len(tasks)) as pool, closing(_answers(prepare(open_tasks), pool)) as coming:
        try:
            for task, answer in coming:
                if "misuse" in answer:
                    raise UsageError(answer["misuse"])
                made[task.name] = answer  # first, so that an interrupt during the next line does not lose it
                if journal is not None:
                    journal.keep(task, answer)
                words[word(answer)] += 1
                done = counted(len(made), len(tasks), words)
                progress(f"{progress_bar(len(made), len(tasks))} {done}  {task.name[-50:]}")
        except KeyboardInterrupt:
            interrupted = True
    return {task.name: made.get(task.name, work.interrupted) for task in tasks}, interrupted


def word(answer: Answer) -> str:
    """The kind of an answer in one word."""
    return str(answer["word"]) if "word" in answer else NoVerdict(answer["why"]).word


def counted(done: int, of: int, words: Mapping[str, int]) -> str:
    """The progress of a run, and the number of results of each kind."""
    return f"{done}/{of}  {', '.join(f'{number} {word}' for word, number in sorted(words.items()))}"


def _pool(work: Work, place: Place, tasks: int) -> AbstractContextManager[WorkerPool]:
    if place.cluster is None:
        return local_pool(work, max(1, min(place.jobs or os.cpu_count() or 1, tasks)))
    from sonnx.workers.cluster import cluster_pool  # most runs need none

    return cluster_pool(work, place)


@contextmanager
def local_pool(work: Work, jobs: int) -> Iterator[WorkerPool]:
    """A number of threads of this process, each with its own child process; all end with the block."""
    run, executor = Run(os.urandom(16).hex(), work), ThreadPoolExecutor(jobs)
    try:
        yield WorkerPool(run, executor, 2 * jobs, partial(end_run, run))
    finally:
        end_run(run)
        executor.shutdown(wait=True, cancel_futures=True)
        forget_run(run)


def _answers(tasks: Iterable[Task], pool: WorkerPool) -> Generator[tuple[Task, Answer], None, None]:
    """Each task with its answer, in the order of completion; tasks are taken as workers become free."""
    waiting, submitted = iter(tasks), dict[Future[Answer], Task]()
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
        for future in [each for each in submitted if each.done()]:
            yield submitted.pop(future), _answer(future, pool)
        yield from ((task, work.failure(NoVerdict.STOPPED, f": {why}")) for task in [*submitted.values(), *waiting])
    finally:
        for future in submitted:
            future.cancel()
        pool.close()


def _answer(future: Future[Answer], pool: WorkerPool) -> Answer:
    try:
        return future.result()
    except CancelledError:
        return pool.run.work.failure(NoVerdict.STOPPED, f": {pool.lost() or 'the cluster cancelled it'}")
    except Exception as error:  # noqa: BLE001  third-party executors may raise anything; only this task fails
        work = pool.run.work
        if is_lack_of_memory(error, work.bounds.memory):
            return work.failure(NoVerdict.STOPPED, ": the memory of this machine does not suffice")
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return work.failure(NoVerdict.FAILED, f": the cluster failed ({text[:300]})")
