"""What does the tasks of a run: an executor of threads of this process, each with its own child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from sonnx.workers.processes import WorkerRun, end_run, forget_run
from sonnx.workers.tasks import Work


@dataclass(frozen=True)
class WorkerPool:
    """An executor, and the run whose tasks it does."""

    run: WorkerRun
    executor: Executor
    width: int
    """How many tasks are submitted at a time."""
    close: Callable[[], None]
    """End all child processes at once."""
    lost: Callable[[], str] = lambda: ""
    """Why no more answers can come, "" if they can."""


@contextmanager
def local_pool(work: Work, jobs: int) -> Iterator[WorkerPool]:
    """A number of threads of this process, each with its own child process; all end with the block."""
    run, executor = WorkerRun(os.urandom(16).hex(), work), ThreadPoolExecutor(jobs)
    try:
        yield WorkerPool(run, executor, 2 * jobs, partial(end_run, run))
    finally:
        end_run(run)
        executor.shutdown(wait=True, cancel_futures=True)
        forget_run(run)
