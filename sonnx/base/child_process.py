"""A process of this interpreter that does a part of the work, and how a process ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sonnx.base import lease
from sonnx.base.resources import PACKAGE


@dataclass(eq=False)
class ChildProcess:
    """A process that leads a group: all of it ends with this process (`lease.py`) and with `end`."""

    process: subprocess.Popen[bytes]
    lent: list[int]
    ended: bool = False

    def kill(self) -> None:
        """Kill the processes of the group, unless they were ended: then the number may be that of another group."""
        if not self.ended:
            lease.kill_group(self.process.pid)
            self.process.kill()

    def end(self) -> None:
        """Kill the processes of the group, and close the pipes."""
        self.kill()
        self.ended = True
        self.process.wait()
        lease.close(self.lent)
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # unsent data are no longer needed
                if pipe is not None:
                    pipe.close()


def start(code: str, arguments: Iterable[str], *, folder: str | None = None, buffered: bool = True) -> ChildProcess:
    """A process that runs code, with pipes for its input and output.

    Behind the arguments that are given it gets those of `hold_lease`, which it calls.  Only this process handles
    interrupts of the terminal.

    Raises:
        OSError: no process can be started.
    """
    held, lent = lease.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603  (the interpreter that runs this, and a constant)
            [sys.executable, "-P", "-c", code, *arguments, *map(str, held)],
            pass_fds=held,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_module_path())},
            start_new_session=True,
            bufsize=-1 if buffered else 0,
        )
    except OSError:
        lease.close(lent)
        raise
    finally:
        lease.close(held)
    return ChildProcess(process, lent)


def hold_lease(arguments: Iterable[str]) -> None:
    """Let this process and its group end with the one that has started it; the last arguments that it got."""
    lease.hold(map(int, arguments), os.getpid())


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


def _module_path() -> list[str]:
    """Where this process finds modules, without the current folder, unless the program is there."""
    here = Path.cwd()
    return [name for name in sys.path if name and (Path(name) != here or here == PACKAGE.parent)]
