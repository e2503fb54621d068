"""What a comparison costs beside one exact run of the first model: processor time and peak memory.

Each measurement is a process of its own, so that the peak is that of one task with the interpreter and the modules.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

FILES = 4
"""Of the memory of a comparison: how many times both files, beside the peak of one exact run."""

MEGABYTE = 1_000_000


class Cost(NamedTuple):
    """What a task gave and took.

    Attributes:
        result: what it returned.
        seconds: of the processor.
        peak: bytes of the process.
    """

    result: Any
    seconds: float
    peak: int


class PairCost(NamedTuple):
    """A comparison beside one exact run of its first model.

    Attributes:
        comparison: of the two files.
        run: of the first model.
        files: bytes of both files.
    """

    comparison: Cost
    run: Cost
    files: int

    @property
    def runs(self) -> float:
        """The time as a multiple of that of the run."""
        return self.comparison.seconds / self.run.seconds

    @property
    def limit(self) -> int:
        """The memory that a comparison may take."""
        return FILES * self.files + self.run.peak


def cost(task: Callable[..., Any], *arguments: Any) -> Cost:
    """Run a task, a function of a module, in a new process.

    Raises:
        EOFError: the process ended without a result.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_measured, args=(theirs, task, arguments))
    child.start()
    theirs.close()
    try:
        return Cost(*ours.recv())
    finally:
        child.join()


def _measured(to: Connection, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    start = time.process_time()
    result = task(*arguments)
    seconds = time.process_time() - start
    [peak] = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    to.send((result, seconds, 1024 * int(peak)))


def summary(costs: list[PairCost]) -> str:
    """The median and the worst of all pairs, in one sentence."""
    runs = [each.runs for each in costs]
    shares = [each.comparison.peak / each.limit for each in costs]
    return (
        f"{len(costs)} pairs: median {median(runs):.2f} exact runs, worst {max(runs):.2f}; "
        f"peak memory at most {max(shares):.2f} of {FILES} times both files and one run"
    )
