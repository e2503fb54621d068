"""One command in a process of its own, which can be ended whatever it does, and which a library may end.

The process is a copy of this one, made before anything large is loaded.  It prints, and its exit code is the command's.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from time import monotonic

from sonnx.base import lease
from sonnx.base.budget import is_likely, peak_megabytes

INTERRUPTED_SECONDS = 1.0
"""Seconds in which an interrupted command keeps what it has."""


class EndedEarly(Exception):
    """The process ended before its command did: `late` if its time was over, else for lack of memory."""

    def __init__(self, *, late: bool) -> None:
        super().__init__("late" if late else "memory")
        self.late = late


def grace(seconds: float) -> float:
    """Seconds after its time limit at which a command that was not interrupted is ended."""
    return max(0.8, seconds / 6)


def in_a_process(command: Callable[[], int], seconds: float, megabytes: int) -> int:
    """The exit code of a command; in its own process this returns, too, and the program goes on to its end.

    The time ends with the command, not with what reads its output.

    Args:
        command: it keeps the limits, as far as it can.
        seconds: after which it ought to have ended.
        megabytes: its limit; it only decides what the end of the process is taken for.

    Raises:
        EndedEarly: the process was ended, or ended itself for lack of memory.
        RuntimeError: the process ended for another reason.
    """
    ending, mark = os.pipe()
    held, lent = lease.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # an interrupt waits until it can be passed on
    child = os.fork()
    if not child:
        os.setpgid(0, 0)  # the parent passes interrupts of the terminal on
        lease.hold(held, os.getpid())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return _done(command, mark)
    with suppress(PermissionError, ProcessLookupError):  # it is done already
        os.setpgid(child, child)
    os.close(mark)
    lease.close(held)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with os.fdopen(ending, "rb", buffering=0) as pipe:
            return _wait(child, pipe, monotonic() + seconds + grace(seconds), megabytes, before)
    finally:
        lease.kill_group(child)  # what the command has started
        lease.close(lent)


def _done(command: Callable[[], int], mark: int) -> int:
    """Run the command, say that it is done, and print what it printed."""
    printed = _Printed(sys.stdout.isatty())
    try:
        with redirect_stdout(printed):
            code = command()
    finally:
        os.write(mark, b".")
    sys.stdout.write(printed.getvalue())
    return code


class _Printed(io.StringIO):
    """What a command prints; it looks like the stream that it goes to."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def _wait(child: int, pipe: io.FileIO, end: float, megabytes: int, signals: Iterable[int]) -> int:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        late = not select.select([pipe], [], [], max(0.0, end - monotonic()))[0]
        done = not late and pipe.read(1) == b"."
        if late:
            lease.kill_group(child)
        _, status, usage = os.wait4(child, 0)
    except KeyboardInterrupt:
        return _interrupt(child, pipe)
    except BaseException:
        lease.kill_group(child)
        raise
    code = os.waitstatus_to_exitcode(status)
    if done and code >= 0:
        return code
    if late or code == -signal.SIGKILL or is_likely(megabytes, peak_megabytes(usage)):
        raise EndedEarly(late=late)
    from sonnx.base.child_process import ending

    raise RuntimeError(f"its process ended with {ending(code)}")


def _interrupt(child: int, pipe: io.FileIO) -> int:
    """Pass the interrupt on; the exit code, if the command keeps what it has and ends in time."""
    os.kill(child, signal.SIGINT)
    if not select.select([pipe], [], [], INTERRUPTED_SECONDS)[0]:
        lease.kill_group(child)
        os.waitpid(child, 0)
        raise KeyboardInterrupt
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
