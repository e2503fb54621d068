"""Starting, limiting and ending a process of another program, with all that it starts; how it ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from sonnx.base.budget import MEGABYTE
from sonnx.base.escaping import plural
from sonnx.base.threads import environment_of_programs
from sonnx.supervise import lease

if TYPE_CHECKING:
    import subprocess


class End(Enum):
    """Why a process gave no answer."""

    ENDED = "ended with"
    TIMED_OUT = "did not answer within"
    OUT_OF_MEMORY = "ran out of memory"
    MALFORMED = "sent a malformed message"
    FAILED = "failed"


class ProcessEnded(Exception):
    """A process gave no answer, and was ended; `detail` is the signal or exit code, the time limit, or its error."""

    def __init__(self, end: End, detail: str = "") -> None:
        super().__init__(f"{end.value} {detail}".rstrip())
        self.end, self.detail = end, detail


def timed_out(seconds: float) -> ProcessEnded:
    """A process that took longer than its limit."""
    return ProcessEnded(End.TIMED_OUT, plural(int(seconds), "second") if seconds == int(seconds) else f"{seconds:g} s")


def ending(code: int | None) -> str:
    """How a process ended, by its return code: the name of a signal, its number where it has no name, an exit code."""
    if code is None:
        return "a closed pipe"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a signal of real time
        return f"signal {-code}"


class Process(Struct, eq=False):
    """A process that leads a group: all of it ends with this process (`lease.py`) and with `end`."""

    popen: subprocess.Popen[bytes]
    lent: list[int]
    ended: bool = False

    def wait(self, seconds: float) -> int:
        """The return code; a signal is a negative one.

        Raises:
            ProcessEnded: it takes longer.
        """
        from subprocess import TimeoutExpired  # as in `start_interpreter`

        try:
            return self.popen.wait(seconds)
        except TimeoutExpired:
            raise timed_out(seconds) from None

    def kill(self) -> None:
        """Kill the processes of the group, unless they were ended: then the number may be that of another group."""
        if not self.ended:
            lease.kill_group(self.popen.pid)
            self.popen.kill()

    def end(self) -> None:
        """Kill the processes of the group, and close the pipes."""
        self.kill()
        self.ended = True
        self.popen.wait()
        lease.close(self.lent)
        for pipe in (self.popen.stdin, self.popen.stdout):
            with suppress(OSError):  # unsent data are no longer needed
                if pipe is not None:
                    pipe.close()


def start_interpreter(words: Sequence[str], folder: str | None, module_path: Sequence[str]) -> Process:
    """A process of this interpreter, with pipes for its input and output; it gets the lease as its last word.

    Only this process handles interrupts of the terminal.

    Raises:
        OSError: no process can be started.
    """
    import subprocess  # most commands start no program, and its import takes a thirtieth of a short one

    held, lent = lease.pipe()
    try:
        popen = subprocess.Popen(  # noqa: S603  (the interpreter that runs this)
            [sys.executable, "-P", *words, ",".join(map(str, held))],
            pass_fds=held,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(module_path)},
            start_new_session=True,
            bufsize=0,
        )
    except OSError:
        lease.close(lent)
        raise
    finally:
        lease.close(held)
    return Process(popen, lent)


def start_program(words: Sequence[str], megabytes: int, errors: IO[bytes]) -> Process:
    """A process of another program, with limited memory where the system can limit it, without input and output.

    Args:
        words: the program and its arguments.
        megabytes: the memory of each of its processes.
        errors: the file that gets what it prints on standard error.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess  # as in `start_interpreter`

    held, lent = lease.pipe()
    try:
        popen = subprocess.Popen(  # noqa: S603
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=held,
            start_new_session=True, env=environment_of_programs(),
            preexec_fn=lambda: lease.hold(held, os.getpid()),  # noqa: PLW1509  (it takes no lock)
        )  # fmt: skip
    except OSError:
        lease.close(lent)
        raise
    finally:
        lease.close(held)
    _limit_memory(popen.pid, megabytes)
    return Process(popen, lent)


def _limit_memory(process: int, megabytes: int) -> None:
    """Limit the addresses of a process that has just started, where the system can; it may have ended already."""
    if sys.platform == "linux":
        import resource

        with suppress(ProcessLookupError, PermissionError):
            resource.prlimit(process, resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))
