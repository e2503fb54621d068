"""A Dask cluster in processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed: sonnx[cluster]")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}

# Prints the address and the processes of the workers, and ends with its input.
SCHEDULER = """
import sys
from distributed import LocalCluster

cluster = LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
print(cluster.scheduler_address, *[worker.pid for worker in cluster.workers.values()], flush=True)
sys.stdin.read()
cluster.close()
"""


@dataclass
class Cluster:
    address: str
    workers: list[int]
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """Kill the scheduler; the workers end too."""
        self.process.kill()
        self.process.wait()


@contextmanager
def cluster_of(workers: int, *path: Path, **more: str) -> Iterator[Cluster]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SCHEDULER, str(workers)],
        env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(str, path)), **more},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        address, *pids = process.stdout.readline().split()
        yield Cluster(address, [*map(int, pids)], process)
    finally:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        process.stdout.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
