"""Runtimes that start processes and threads of their own, as adapters of `sonnx compare`: their children are blocked.

Each writes the numbers of the processes to the file that the environment variable PROCESSES names, and hangs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

LOCK = threading.Lock()


class Hanging:
    """The processes are started when the runtime is made, and its models never load."""

    title = "hanging"

    def __init__(self) -> None:
        held = threading.Event()
        threading.Thread(target=_hold, args=(held,), daemon=True).start()
        held.wait()
        place = Path(os.environ["PROCESSES"])
        place.with_suffix(".new").write_text(" ".join(map(str, (os.getpid(), *self.started()))), "ascii")
        place.with_suffix(".new").rename(place)

    def started(self) -> list[int]:
        """The processes that it starts."""
        return []

    def load(self, model: bytes | Path, folder: Path | None) -> Any:
        """See `Runtime.load`."""
        while True:
            time.sleep(60)


class Forking(Hanging):
    """A copy of the process, made beside a thread that holds a lock: it waits for the lock, and its child, too."""

    def started(self) -> list[int]:
        """See `Hanging.started`."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            below = os.fork()
            if below:
                os.write(writer, str(below).encode("ascii"))
            with LOCK:
                os._exit(0)
        return [child, int(os.read(reader, 32))]


class Starting(Hanging):
    """Another program, which has none of the descriptors of this process."""

    def started(self) -> list[int]:
        """See `Hanging.started`."""
        return [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid]


class Crashing(Forking):
    """It ends at once where a model is loaded, and leaves its children, which hold its pipes."""

    def load(self, model: bytes | Path, folder: Path | None) -> Any:
        """See `Runtime.load`."""
        os._exit(7)


def _hold(held: threading.Event) -> None:
    with LOCK:
        held.set()
        time.sleep(600)
