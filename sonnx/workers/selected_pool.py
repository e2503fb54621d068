"""The worker pool that the options of a command select."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from sonnx.workers.pools import WorkerPool, local_pool
from sonnx.workers.tasks import Work


def open_pool(work: Work, address: str | None, jobs: int | None, tasks: int) -> AbstractContextManager[WorkerPool]:
    """The pool that the options of a command select: the cluster at an address, else local processes, one per core."""
    if address is None:
        return local_pool(work, max(1, min(jobs or os.cpu_count() or 1, tasks)))
    from sonnx.workers.cluster import cluster_pool  # most runs need none

    return cluster_pool(work, address, jobs)
