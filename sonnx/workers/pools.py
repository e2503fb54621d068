"""Worker pools: executors whose tasks each drive a child process, in threads of this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from sonnx.checker.report import NoVerdict
from sonnx.workers.processes import ChildProcesses
from sonnx.workers.tasks import Answer, Task, Work

POLL_SECONDS = 1.0
"""Seconds to wait for an answer before the pool is checked."""


@dataclass(frozen=True)
class WorkerPool:
    """An executor, and the function that runs in it."""

    work: Work
    executor: Executor
    run_task: Callable[[Task], Answer]
    """Computes the answer to one task, wherever the executor runs it."""
    width: int
    """How many tasks are submitted at a time."""
    close: Callable[[], None]
    """End all child processes at once."""
    lost: Callable[[], str] = lambda: ""
    """Why no more answers can come, "" if they can."""


@contextmanager
def local_pool(work: Work, jobs: int) -> Iterator[WorkerPool]:
    """A number of threads of this process, each with its own child process; all end with the block."""
    children, executor = ChildProcesses(work), ThreadPoolExecutor(jobs)
    try:
        yield WorkerPool(work, executor, children.run_task, 2 * jobs, children.close)
    finally:
        children.close()
        executor.shutdown(wait=True, cancel_futures=True)
        for child in children.processes:
            child.stop()


def answers(tasks: Iterable[Task], pool: WorkerPool) -> Generator[tuple[Task, Answer], None, None]:
    """Each task with its answer, in the order of completion; tasks are taken as workers become free."""
    waiting, submitted = iter(tasks), dict[Future[Answer], Task]()
    try:
        while not (why := pool.lost()):
            submitted |= {
                pool.executor.submit(pool.run_task, task): task for task in islice(waiting, pool.width - len(submitted))
            }
            if not submitted:
                return
            for future in wait(submitted, POLL_SECONDS, FIRST_COMPLETED).done:
                yield submitted.pop(future), _answer(future, pool)
        lost = pool.work.failure(NoVerdict.STOPPED, f": {why}")
        for future in [each for each in submitted if each.done()]:
            yield submitted.pop(future), _answer(future, pool)
        yield from ((task, lost) for task in [*submitted.values(), *waiting])
    finally:
        for future in submitted:
            future.cancel()
        pool.close()


def _answer(future: Future[Answer], pool: WorkerPool) -> Answer:
    try:
        return future.result()
    except CancelledError:
        return pool.work.failure(NoVerdict.STOPPED, f": {pool.lost() or 'the cluster cancelled it'}")
    except Exception as error:  # noqa: BLE001  third-party executors may raise anything; only this task fails
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return pool.work.failure(NoVerdict.FAILED, f": the cluster failed ({text[:300]})")


def counted(done: int, of: int, words: Mapping[str, int]) -> str:
    """The progress of a run, and the number of results of each kind."""
    return f"{done}/{of}  {', '.join(f'{number} {word}' for word, number in sorted(words.items()))}"
