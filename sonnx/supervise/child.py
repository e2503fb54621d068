"""The main program of a child process: it answers the requests of its parent (`service.py`) until its input ends.

It is told a module, which has a function `service` that is called with the arguments and gives what answers.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from math import ceil
from typing import BinaryIO, Protocol

from sonnx.base.budget import is_lack_of_memory, memory_limit
from sonnx.base.garbage import collect_rarely
from sonnx.supervise import frames, lease
from sonnx.supervise.descriptors import open_standard
from sonnx.supervise.frames import Kind

GRACE_SECONDS = 5
"""Seconds after its time limit at which the process ends itself, in case the parent is gone."""


class Answering(Protocol):
    """What answers requests.  It is made before the memory is limited."""

    def greeting(self) -> bytes:
        """The first message, within the memory limit: that, and with what, requests can be answered."""
        ...

    def answer(self, request: bytes | bytearray) -> bytes:
        """The answer to a request; an error that it raises ends the process, and is reported."""
        ...


def main() -> None:
    """Answer requests until the input ends.

    Arguments: a module, seconds and megabytes for each request, seconds without a request, the arguments of the
    service, a lease.
    """
    module, seconds, megabytes, idle, *arguments, held = sys.argv[1:]
    open_standard()
    lease.hold(map(int, filter(None, held.split(","))), os.getpid())
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a request prints goes to standard error, not between the answers
    answering: Answering = import_module(module).service(*arguments)
    collect_rarely()
    limit = int(megabytes) or None
    with memory_limit(limit):
        _serve(answering, answers, float(seconds), limit, int(idle))


def _serve(answering: Answering, answers: BinaryIO, seconds: float, megabytes: int | None, idle: int) -> None:
    kind, message = _attempt(answering.greeting, megabytes)
    while True:
        frames.send(answers, message, kind)
        if kind is not Kind.MESSAGE:
            return
        del message
        _end_after(idle)
        try:
            kind, message = _attempt(lambda: _answer(answering, seconds), megabytes)
        except EOFError:
            return


def _answer(answering: Answering, seconds: float) -> bytes:
    request = frames.receive(sys.stdin.buffer).data
    _end_after(seconds and seconds + GRACE_SECONDS)
    return answering.answer(request)


def _attempt(work: Callable[[], bytes], megabytes: int | None) -> tuple[Kind, bytes]:
    """The message that work gives, or that reports its error."""
    try:
        return Kind.MESSAGE, work()
    except (MemoryError, EOFError) as error:
        if isinstance(error, EOFError):
            raise
        return Kind.OUT_OF_MEMORY, b""
    except Exception as error:  # noqa: BLE001  one request must not end the run; the parent reports the failure
        return _failure(error, megabytes)


def _failure(error: Exception, megabytes: int | None) -> tuple[Kind, bytes]:
    if is_lack_of_memory(error, megabytes):
        return Kind.OUT_OF_MEMORY, b""
    if "SONNX_TRACEBACK" in os.environ:
        import traceback

        traceback.print_exc()
    return Kind.FAILED, " ".join(f"{type(error).__name__}: {error}".split()).encode("utf-8", "backslashreplace")


def _end_after(seconds: float) -> None:
    """Let the system end this process after a time, unless this is called again; 0 for never."""
    if hasattr(signal, "alarm"):
        signal.alarm(ceil(seconds))
