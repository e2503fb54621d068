"""A Dask cluster as a crew: `ask` and `end` run in its workers, which drive child processes as threads do here.

Dask pickles the function, the tasks and the answers, which are plain data: the cluster is trusted.
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
from sonnx.checker.report import Why
from sonnx.workers.crews import Crew
from sonnx.workers.journal import ToolIdentity, identity, unlike
from sonnx.workers.processes import Children
from sonnx.workers.tasks import Answer, Task, Work

CONNECT = 10
"""Seconds a scheduler has to answer."""
EMPTY = 60
"""Seconds a cluster may be without workers: those that were killed are usually started again."""
LOOK = 5
"""Seconds between two looks at the workers."""
REST = 60
"""Seconds after which child processes end when nobody asks them: the program that did may be gone."""


@contextmanager
def cluster(work: Work, address: str, jobs: int | None = None) -> Iterator[Crew]:
    """The workers of the scheduler at an address, or so many tasks at a time.

    Raises:
        Misuse: Dask is absent, no scheduler answers, or a worker has not the program that runs here.
    """
    client = _connected(address)
    try:
        ours = identity(work.packages)
        _require_the_same(client, address, work, ours)
        work = replace(work, folder=str(Path.cwd()))  # so that names mean there what they mean here
        run = uuid.uuid4().hex
        width = jobs or 2 * sum(client.nthreads().values())
        end = partial(_end_everywhere, client, run)
        executor = client.get_executor(pure=False)
        yield Crew(work, executor, partial(ask, run, work, ours), width, end, _Pulse(client, address).lost)
    finally:
        with suppress(Exception):  # of a scheduler that is gone there is no leave to take
            client.close(timeout=CONNECT)


def _connected(address: str) -> Any:
    try:
        import dask
    except ImportError:
        raise UsageError("--cluster needs Dask; it comes with pip install 'sonnx[cluster]'") from None
    quiet = dict.fromkeys(("distributed", "distributed.client", "tornado.application", "asyncio"), "critical")
    dask.config.set({"logging": quiet})  # what it would say is said in the answers
    from distributed import Client, Security  # read that when they are loaded
    from distributed.comm import get_address_host_port

    try:
        # A client that could not be made lingers and complains at the end, so what can be seen before is.
        get_address_host_port(address)
        if address.startswith(("tls:", "wss:")) and not Security().get_connection_args("client").get("ssl_context"):
            raise ValueError("the configuration of Dask names no certificates (distributed.comm.tls)")
        return Client(address, timeout=CONNECT, set_as_default=False)
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
            raise UsageError(f"the worker {worker} of the cluster at {address!r} has {unlike(theirs, ours)}")


class _Pulse:
    """Whether answers can come: the scheduler is there, and it has workers or will soon have some."""

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self.looked = self.seen = monotonic()

    def lost(self) -> str:
        """Why no answer will come any more, "" as long as one can."""
        gone = f"the scheduler at {self.address} was lost"
        if self.client.status != "running":
            return gone
        if monotonic() - self.looked < LOOK:
            return ""
        try:
            workers = self.client.nthreads()
        except Exception:  # noqa: BLE001  a connection can break in many ways, and each means the same
            return gone
        self.looked = monotonic()
        if workers:
            self.seen = self.looked
        return "" if self.looked - self.seen < EMPTY else f"the cluster at {self.address} lost all its workers"


def _end_everywhere(client: Any, run: str) -> None:
    if client.status == "running":
        with suppress(Exception):  # a worker that is gone has no children any more
            client.run(end, run, on_error="ignore")


# ------------------------------------------------------------------ in a worker

_RUNS: dict[str, Children | str] = {}
"""The children of each run, or why there are none: another program, or the end of the run."""
_LOCK = threading.Lock()


def ask(run: str, work: Work, wanted: ToolIdentity, task: Task) -> Answer:
    """The answer of a child of this worker."""
    children = _children(run, work, wanted)
    if isinstance(children, str):
        return work.undone(Why.FAILED, f": its worker has {children}")
    return children.ask(task)


def end(run: str) -> None:
    """End the children of a run."""
    with _LOCK:
        children, _RUNS[run] = _RUNS.get(run), "ended the run"  # a task may still come, and starts no child any more
    if isinstance(children, Children):
        children.close()


def _children(run: str, work: Work, wanted: ToolIdentity) -> Children | str:
    with _LOCK:
        if run not in _RUNS:
            ours = identity(work.packages)
            if ours != wanted:
                _RUNS[run] = unlike(ours, wanted)
            else:
                children = _RUNS[run] = Children(work)
                threading.Thread(target=_rest, args=(children,), daemon=True).start()
        return _RUNS[run]


def _rest(children: Children) -> None:
    while not children.closed:
        before = children.asked
        sleep(REST)
        if children.asked == before:
            children.rest()
