"""A process that ends with the one that started it, whatever it does at that moment, and so does what it has started.

The one that starts it keeps the writing end of a pipe, and it holds the reading end.  A process that ends, in whatever
way, closes what it holds, and the system then ends the group of the other: also children that a library has made of it,
which may be blocked.  Only Linux lets a process choose the signal: elsewhere there is no pipe, and a process whose
parent is gone goes on to its time limit.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

if sys.platform == "linux":
    import fcntl

_LENT: dict[int, list[int]] = {}
"""The writing ends of this process.  A copy of this process, which may live longer, must not keep them open."""


def pipe() -> tuple[list[int], list[int]]:
    """The reading end for the process that is started and the writing end for this one; nothing where unsupported."""
    if sys.platform != "linux":
        return [], []
    reader, writer = os.pipe()
    lent = [writer]
    _LENT[id(lent)] = lent
    return [reader], lent


def hold(held: Iterable[int], leader: int) -> None:
    """Have the system end the group of a leader when the writing end is closed; leader and caller have the reading end.

    If the writing end is closed already, the group is ended at once.
    """
    for reader in held:
        if sys.platform == "linux":
            fcntl.fcntl(reader, fcntl.F_SETOWN, -leader)
            fcntl.fcntl(reader, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
            if select.select([reader], [], [], 0)[0]:  # nothing is ever written
                kill_group(leader)


def close(ends: list[int]) -> None:
    """Close ends that this process does not need, once."""
    while ends:
        os.close(ends.pop())
    _LENT.pop(id(ends), None)


def kill_group(leader: int) -> None:
    """Kill the processes of a group, where there are groups; it may have ended already."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _forked() -> None:
    for lent in list(_LENT.values()):
        close(lent)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
