"""A pipe that ends a child process, and what it has started, when the process that started it has ended.

The parent keeps the writing end, the child holds the reading end.  When the parent ends, in whatever way, the system
closes the writing end and sends SIGKILL to the child's group: also to processes that a library has started, which may
be blocked.  Only Linux lets a process choose the signal: elsewhere there is no pipe, and a child whose parent is gone
goes on to its time limit.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

from sonnx.supervise import descriptors

if sys.platform == "linux":
    import fcntl

_LENT: dict[int, list[int]] = {}
"""The writing ends of this process.  A copy of this process, which may live longer, must not keep them open."""


def pipe() -> tuple[list[int], list[int]]:
    """The reading end for the process that is started and the writing end for this one; nothing where unsupported."""
    if sys.platform != "linux":
        return [], []
    reader, writer = descriptors.pipe()
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
