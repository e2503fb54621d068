"""Who does the work: an executor whose tasks each drive a child process, in threads of this process or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice

from sonnx.checker.report import Why
from sonnx.workers.processes import Children
from sonnx.workers.tasks import Answer, Task, Work

ALIVE = 1.0
"""Seconds after which a crew that gives no answer is asked whether it still can."""


@dataclass(frozen=True)
class Crew:
    """An executor, and what runs in it."""

    work: Work
    executor: Executor
    ask: Callable[[Task], Answer]
    """The answer to one task, wherever the executor runs it."""
    width: int
    """How many tasks it is given at a time."""
    close: Callable[[], None]
    """End all child processes at once."""
    lost: Callable[[], str] = lambda: ""
    """Why no answer will come any more, "" as long as one can."""


@contextmanager
def threads(work: Work, jobs: int) -> Iterator[Crew]:
    """So many threads of this process, each with a child of its own; all are gone when the block ends."""
    children, executor = Children(work), ThreadPoolExecutor(jobs)
    try:
        yield Crew(work, executor, children.ask, 2 * jobs, children.close)
    finally:
        children.close()
        executor.shutdown(wait=True, cancel_futures=True)
        for child in children.every:
            child.stop()


def crew_of(work: Work, address: str | None, jobs: int | None, tasks: int) -> AbstractContextManager[Crew]:
    """The crew the options of a command ask for: on the cluster at an address, else here, one job for each core."""
    if address is None:
        return threads(work, max(1, min(jobs or os.cpu_count() or 1, tasks)))
    from sonnx.workers.cluster import cluster  # most runs need none

    return cluster(work, address, jobs)


def answers(tasks: Iterable[Task], crew: Crew) -> Generator[tuple[Task, Answer], None, None]:
    """Each task with its answer, as they come; tasks are made when there is somebody for them."""
    waiting, asked = iter(tasks), dict[Future[Answer], Task]()
    try:
        while not (why := crew.lost()):
            asked |= {crew.executor.submit(crew.ask, task): task for task in islice(waiting, crew.width - len(asked))}
            if not asked:
                return
            for future in wait(asked, ALIVE, FIRST_COMPLETED).done:
                yield asked.pop(future), _answer(future, crew)
        lost = crew.work.undone(Why.STOPPED, f": {why}")
        for future in [each for each in asked if each.done()]:
            yield asked.pop(future), _answer(future, crew)
        yield from ((task, lost) for task in [*asked.values(), *waiting])
    finally:
        for future in asked:
            future.cancel()
        crew.close()


def _answer(future: Future[Answer], crew: Crew) -> Answer:
    try:
        return future.result()
    except CancelledError:
        return crew.work.undone(Why.STOPPED, f": {crew.lost() or 'the cluster gave it up'}")
    except Exception as error:  # noqa: BLE001  an executor of others raises what it likes, and it costs one task
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return crew.work.undone(Why.FAILED, f": the cluster failed ({text[:300]})")


def counted(done: int, of: int, words: Mapping[str, int]) -> str:
    """How far a run is, and what came out so far."""
    return f"{done}/{of}  {', '.join(f'{number} {word}' for word, number in sorted(words.items()))}"


# ------------------------------------------------------------------
# What is done many times over: tasks, what each may cost, and the answers.
