"""A child process that answers requests, as its parent sees it: `child.py` is its own side.

What a request does to its process is a result, never the end of the run.  Four things can happen instead of an answer,
each reported in the same way (`ProcessEnded`): the process ended, it took too long, it ran out of memory, or it sent
something else than an answer.  In all of them its group has been killed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from sonnx.base.budget import MEGABYTE
from sonnx.base.errors import NOT_JSON
from sonnx.base.resources import PACKAGE
from sonnx.supervise import frames
from sonnx.supervise.frames import Kind
from sonnx.supervise.process import End, Process, ProcessEnded, ending, start_interpreter, timed_out

CHILD_CODE = "from sonnx.supervise.child import main; main()"
START_SECONDS = 120
"""Seconds in which a process must be ready, at least."""
ENDING_SECONDS = 1
"""Seconds in which a process that closed its pipe has ended."""
TINY_MEGABYTES = 64
"""Of less memory, a signal may be all that shows of its lack: Python may end so while it compiles a module."""
LOOK_SECONDS = 0.1
"""How often it is looked whether a process has ended."""

T = TypeVar("T")


class ServiceLimits(NamedTuple):
    """What a process may take for each request; None stands for unlimited."""

    seconds: float | None = None
    megabytes: int | None = None
    idle: int = 0
    """Seconds without a request after which the process ends itself; 0 for never."""


class Service:
    """A child process that answers requests, one at a time.

    Args:
        module: what the process runs: a module with a function `service`, see `child.py`.
        arguments: of that function.
        limits: of each request.
        folder: in which it runs; that of this process if None.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, module: str, arguments: Sequence[str], limits: ServiceLimits, folder: str | None = None) -> None:
        self.limits = limits
        numbers = [str(number or 0) for number in limits]
        self.process: Process = start_interpreter(
            ["-c", CHILD_CODE, module, *numbers, *arguments], folder, _module_path()
        )

    def greeting(self, decode: Callable[[bytes | bytearray], T]) -> T:
        """What the process sends when it is ready, decoded.

        Raises:
            ProcessEnded: it sends nothing, or something else.
        """
        return self._exchange(None, max(START_SECONDS, self.limits.seconds or 0), decode)

    def ask(self, request: bytes, decode: Callable[[bytes | bytearray], T]) -> T:
        """The answer to a request, decoded.

        Raises:
            ProcessEnded: there is none; a message that cannot be decoded is malformed.
        """
        return self._exchange(request, self.limits.seconds, decode)

    @property
    def is_running(self) -> bool:
        """Whether the process can answer."""
        return not self.process.ended and self.process.popen.poll() is None

    def kill(self) -> None:
        """Kill the group of the process; another thread that waits for an answer gets none."""
        self.process.kill()

    def end(self) -> None:
        """Kill the group of the process, and close its pipes."""
        self.process.end()

    @property
    def _longest(self) -> int:
        """Bytes of the longest message: it was in the memory of the process."""
        return frames.MAX_LENGTH if self.limits.megabytes is None else self.limits.megabytes * MEGABYTE

    def _exchange(self, request: bytes | None, seconds: float | None, decode: Callable[[bytes | bytearray], T]) -> T:
        popen, watch = self.process.popen, _Watch(self.process, seconds)
        assert popen.stdin is not None and popen.stdout is not None  # noqa: S101  (both are pipes)
        try:
            with watch:
                if request is not None:
                    with suppress(BrokenPipeError):  # it may have said why before it ended
                        frames.send(popen.stdin, request)
                frame = frames.receive(popen.stdout, self._longest)
                if frame.kind is Kind.MESSAGE:
                    return decode(frame.data)
        except (EOFError, OSError):
            from subprocess import TimeoutExpired  # a check imports this module, and mostly starts no service

            with suppress(TimeoutExpired):
                popen.wait(ENDING_SECONDS)
            code = popen.poll()
            self.end()
            if watch.expired and seconds is not None:
                raise timed_out(seconds) from None
            if code is not None and code < 0 and (self.limits.megabytes or TINY_MEGABYTES) < TINY_MEGABYTES:
                raise ProcessEnded(End.OUT_OF_MEMORY) from None
            raise ProcessEnded(End.ENDED, ending(code)) from None
        except (*NOT_JSON, ValueError):
            self.end()
            raise ProcessEnded(End.MALFORMED) from None
        except BaseException:  # the time of the command is over, or an interrupt
            self.end()
            raise
        self.end()
        if frame.kind is Kind.OUT_OF_MEMORY:
            raise ProcessEnded(End.OUT_OF_MEMORY)
        raise ProcessEnded(End.FAILED, bytes(frame.data[:MAX_ERROR]).decode("utf-8", "replace"))


MAX_ERROR = 1 << 16
"""Bytes of the text of an error that are read."""


class _Watch:
    """Kills a group when its time is over, or its leader has ended: a process that it started may hold its pipe."""

    def __init__(self, process: Process, seconds: float | None) -> None:
        self.process, self.seconds = process, seconds
        self.answered, self.expired = threading.Event(), False

    def __enter__(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.answered.set()

    def _look(self) -> None:
        end = None if self.seconds is None else time.monotonic() + self.seconds
        while True:
            left = LOOK_SECONDS if end is None else min(LOOK_SECONDS, end - time.monotonic())
            if self.answered.wait(max(0.0, left)):
                return
            if self.process.popen.poll() is not None:
                break
            if end is not None and time.monotonic() >= end:
                self.expired = True
                break
        self.process.kill()


def _module_path() -> list[str]:
    """Where this process finds modules, without the current folder, unless the program is there."""
    here = Path.cwd()
    return [name for name in sys.path if name and (Path(name) != here or here == PACKAGE.parent)]
