"""A Dask cluster as a worker pool: `run_task` and `end_run` run in its workers, which drive child processes.

Dask pickles functions, tasks and answers, so the cluster is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.supervise.identity import Identity, tool_identity
from sonnx.workers.processes import WorkerRun, difference, end_run
from sonnx.workers.tasks import Work, WorkPlace
from sonnx.workers.worker_pool import WorkerPool

CONNECT_SECONDS = 10
"""Time for a scheduler to answer."""
MAX_SECONDS_WITHOUT_WORKERS = 60
"""A cluster without workers for this time is lost; killed workers are usually restarted."""
HEARTBEAT_SECONDS = 5
"""Time between two checks of the scheduler."""


@contextmanager
def cluster_pool(work: Work, place: WorkPlace) -> Iterator[WorkerPool]:
    """The workers of the scheduler at an address; `jobs` limits the tasks at a time.

    Raises:
        UsageError: Dask is not installed, no scheduler answers, or a worker has another version of the program.
    """
    with _connection(place.cluster or "", work.packages) as (client, ours, lost):
        # Relative paths mean the same in the workers.
        run = WorkerRun(os.urandom(16).hex(), replace(work, folder=str(Path.cwd())), ours)
        width = place.jobs or 2 * sum(client.nthreads().values())
        yield WorkerPool(run, client.get_executor(pure=False), width, partial(_end_in_workers, client, run), lost)


@contextmanager
def _connection(address: str, packages: tuple[str, ...]) -> Iterator[tuple[Any, Identity, Callable[[], str]]]:
    """A client, the identity of the program, and whether the cluster was lost."""
    client = _connected(address)
    try:
        ours = tool_identity(packages)
        _require_the_same(client, address, packages, ours)
        yield client, ours, _Heartbeat(client, address).lost
    finally:
        with suppress(Exception):  # closing fails if the scheduler is gone; ignore
            client.close(timeout=CONNECT_SECONDS)


def _connected(address: str) -> Any:
    try:
        import dask
    except ImportError:
        raise UsageError("--cluster needs Dask; it comes with pip install 'sonnx[cluster]'") from None
    quiet = dict.fromkeys(("distributed", "distributed.client", "tornado.application", "asyncio"), "critical")
    dask.config.set({"logging": quiet})  # the answers report these problems
    from distributed import Client, Security  # they read the configuration when they load
    from distributed.comm import get_address_host_port

    try:
        # A client that cannot be created keeps running and complains at exit, so check the address first.
        get_address_host_port(address)
        if address.startswith(("tls:", "wss:")) and not Security().get_connection_args("client").get("ssl_context"):
            raise ValueError("the configuration of Dask names no certificates (distributed.comm.tls)")
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        raise UsageError(f"no scheduler of Dask answers at {address!r}: {text}") from None


def _require_the_same(client: Any, address: str, packages: tuple[str, ...], ours: Identity) -> None:
    programs = client.run(tool_identity, packages, on_error="return")
    if not programs:
        raise UsageError(f"the cluster at {address!r} has no worker")
    for worker, theirs in sorted(programs.items()):
        if isinstance(theirs, Exception):
            text = " ".join(str(theirs).split())
            raise UsageError(f"the worker {worker} of the cluster at {address!r} cannot run sonnx: {text}")
        if theirs != ours:
            raise UsageError(f"the worker {worker} of the cluster at {address!r} has {difference(theirs, ours)}")


class _Heartbeat:
    """Whether answers can still come: the scheduler is alive, and has had workers recently."""

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self.checked = self.alive = monotonic()

    def lost(self) -> str:
        """Why no more answers can come, "" if they can."""
        gone = f"the scheduler at {self.address} was lost"
        if self.client.status != "running":
            return gone
        if monotonic() - self.checked < HEARTBEAT_SECONDS:
            return ""
        try:
            workers = self.client.nthreads()
        except Exception:  # noqa: BLE001  a connection can break in many ways
            return gone
        self.checked = monotonic()
        if workers:
            self.alive = self.checked
        return (
            ""
            if self.checked - self.alive < MAX_SECONDS_WITHOUT_WORKERS
            else f"the cluster at {self.address} lost all its workers"
        )


def _end_in_workers(client: Any, run: WorkerRun) -> None:
    if client.status == "running":
        with suppress(Exception):  # a lost worker has no child processes
            client.run(end_run, run, on_error="ignore")
