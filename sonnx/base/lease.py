"""A process that ends with the one that started it, whatever it does at that moment.

The one that starts it keeps the writing end of a pipe, and it holds the reading end.  A process that ends, in whatever
way, closes what it holds, and the system then ends the other.  Only Linux lets a process choose the signal: elsewhere
there is no pipe, and a process whose parent is gone goes on to its time limit.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence


def pipe() -> tuple[Sequence[int], Sequence[int]]:
    """The reading end for the process that is started and the writing end for this one; nothing where unsupported."""
    if sys.platform != "linux":
        return (), ()
    reader, writer = os.pipe()
    return (reader,), (writer,)


def hold(held: Iterable[int], owner: int | None = None) -> None:
    """Have the system end a process when the writing end is closed: this one, or an owner that has the reading end too.

    An owner below 0 is a group of processes.
    """
    for reader in held:
        if sys.platform == "linux":
            import fcntl

            fcntl.fcntl(reader, fcntl.F_SETOWN, os.getpid() if owner is None else owner)
            fcntl.fcntl(reader, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)


def close(ends: Iterable[int]) -> None:
    """Close ends that this process does not need."""
    for end in ends:
        os.close(end)
