"""Threads of a run: parts of one array are computed side by side, each by the same calls, in memory of its own.

numpy lets other threads run while it computes.  No part depends on another one, and no value on how an array is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import pairwise

_JOBS = [1]


def set_jobs(number: int) -> None:
    """Set the number of threads of all runs of this process; 1 where nothing is set."""
    _JOBS[0] = number


@cache
def _pool(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number)


def total_of_parts(work: Callable[[slice], int], count: int, least: int = 1) -> int:
    """The sum of what `work` gives for parts of range(count), one for each thread, of at least `least` numbers.

    numpy's buffers and what it does about overflow are those of the caller.
    """
    number = min(_JOBS[0], count // least)
    if number <= 1:
        return work(slice(0, count))
    cuts = [count * k // number for k in range(number + 1)]
    parts = [slice(*pair) for pair in pairwise(cuts)]
    others = [_pool(_JOBS[0]).submit(copy_context().run, work, part) for part in parts[1:]]
    return work(parts[0]) + sum(each.result() for each in others)
