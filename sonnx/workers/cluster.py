"""A Dask cluster as a worker pool: `run_task` and `end_run` run in its workers, which drive child processes.

Dask pickles functions, tasks and answers, so the cluster is trusted.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.checker.report import NoVerdict
from sonnx.workers.journal import ToolIdentity, difference, identity
from sonnx.workers.pools import WorkerPool
from sonnx.workers.processes import ChildProcesses
from sonnx.workers.tasks import Answer, Task, Work

CONNECT_SECONDS = 10
"""Time for a scheduler to answer."""
MAX_SECONDS_WITHOUT_WORKERS = 60
"""A cluster without workers for this time is lost; killed workers are usually restarted."""
HEARTBEAT_SECONDS = 5
"""Time between two checks of the scheduler."""
IDLE_SECONDS = 60
"""Idle child processes end after this time: the program that used them may be gone."""


@contextmanager
def cluster_pool(work: Work, address: str, jobs: int | None = None) -> Iterator[WorkerPool]:
    """The workers of the scheduler at an address; `jobs` limits the tasks at a time.

    Raises:
        UsageError: Dask is not installed, no scheduler answers, or a worker has another version of the program.
    """
    client = _connected(address)
    try:
        ours = identity(work.packages)
        _require_the_same(client, address, work, ours)
        work = replace(work, folder=str(Path.cwd()))  # relative paths mean the same there
        run = uuid.uuid4().hex
        width = jobs or 2 * sum(client.nthreads().values())
        end = partial(_end_in_workers, client, run)
        executor = client.get_executor(pure=False)
        yield WorkerPool(
            work, executor, partial(run_task, run, work, ours), width, end, _Heartbeat(client, address).lost
        )
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


def _require_the_same(client: Any, address: str, work: Work, ours: ToolIdentity) -> None:
    found = client.run(identity, work.packages, on_error="return")
    if not found:
        raise UsageError(f"the cluster at {address!r} has no worker")
    for worker, theirs in sorted(found.items()):
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


def _end_in_workers(client: Any, run: str) -> None:
    if client.status == "running":
        with suppress(Exception):  # a lost worker has no child processes
            client.run(end_run, run, on_error="ignore")


# ------------------------------------------------------------------ in a worker

_POOLS: dict[str, ChildProcesses | str] = {}
"""The child processes of each run, or why it has none: another version, or the end of the run."""
_LOCK = threading.Lock()


def run_task(run: str, work: Work, wanted: ToolIdentity, task: Task) -> Answer:
    """The answer of a child process of this worker."""
    children = _children(run, work, wanted)
    if isinstance(children, str):
        return work.failure(NoVerdict.FAILED, f": its worker has {children}")
    return children.run_task(task)


def end_run(run: str) -> None:
    """End the child processes of a run."""
    with _LOCK:
        children, _POOLS[run] = _POOLS.get(run), "ended the run"  # a task that still comes starts no child process
    if isinstance(children, ChildProcesses):
        children.close()


def _children(run: str, work: Work, wanted: ToolIdentity) -> ChildProcesses | str:
    with _LOCK:
        if run not in _POOLS:
            ours = identity(work.packages)
            if ours != wanted:
                _POOLS[run] = difference(ours, wanted)
            else:
                children = _POOLS[run] = ChildProcesses(work)
                threading.Thread(target=_stop_when_idle, args=(children,), daemon=True).start()
        return _POOLS[run]


def _stop_when_idle(children: ChildProcesses) -> None:
    while not children.closed:
        before = children.started_tasks
        sleep(IDLE_SECONDS)
        if children.started_tasks == before:
            children.stop_idle()
