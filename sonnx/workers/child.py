"""The main program of a child process: a request in JSON on each line of its input, an answer on each of its output.

It ends with its input.  `processes.py` is the other side.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from math import ceil
from typing import Any, BinaryIO

from sonnx.base.budget import is_lack_of_memory, memory_limit
from sonnx.base.child_process import hold_lease
from sonnx.base.errors import UsageError
from sonnx.base.garbage import collect_rarely
from sonnx.checker.report import NoVerdict
from sonnx.workers.tasks import Answer, TaskLimits, Work

GRACE_SECONDS = 5
"""Seconds after its time limit at which the child ends itself, in case the parent is gone."""
IDLE_SECONDS = 60
"""Seconds without a request after which the child ends itself: the run it belongs to may be gone."""

Worker = Callable[[Mapping[str, Any]], Answer]
"""The function `answer` of the module: a request in, an answer out."""


def main() -> None:
    """Answer requests until the input ends.

    Arguments: module, participle, seconds and megabytes for each task, a lease.
    """
    name, done, timeout, memory, *held = sys.argv[1:]
    hold_lease(held)
    work = Work(name, done, bounds=TaskLimits(float(timeout) or None, int(memory) or None))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of a task go to standard error, not between the answers
    module = import_module(name)
    module.prepare()
    collect_rarely()
    without_memory = _line(work.failure(NoVerdict.STOPPED, work.bounds.no_memory) | {"last": True})
    with memory_limit(work.bounds.memory):
        _serve(module, work, answers, without_memory)


def _serve(module: Any, work: Work, answers: BinaryIO, without_memory: bytes) -> None:
    """Answer each request; the last answer is made while there is memory."""
    line, last = _line({}), False  # the first line says that the child is ready
    while not last:
        answers.write(line)
        answers.flush()
        _end_after(IDLE_SECONDS)
        request = sys.stdin.buffer.readline()
        if not request.endswith(b"\n"):
            return
        _end_after(work.bounds.timeout and work.bounds.timeout + GRACE_SECONDS)
        try:
            line, last = _answer(module.answer, json.loads(request), work)
        except MemoryError:
            line, last = without_memory, True
    answers.write(line)
    answers.flush()


def _line(answer: Answer) -> bytes:
    return json.dumps(answer).encode("ascii") + b"\n"


def _end_after(seconds: float | None) -> None:
    """Let the system end this process after a time, unless this is called again."""
    if hasattr(signal, "alarm"):
        signal.alarm(ceil(seconds or 0))


def _answer(worker: Worker, request: Mapping[str, Any], work: Work) -> tuple[bytes, bool]:
    """The line that answers a request, and whether the process must not run another task."""
    try:
        return _line(worker(request)), False
    except UsageError as error:
        return _line({"misuse": str(error)}), False
    except Exception as error:  # noqa: BLE001  one task must not end the run; the parent reports the failure
        if is_lack_of_memory(error, work.bounds.memory):
            raise MemoryError from None
        if "SONNX_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return _line(work.failure(NoVerdict.FAILED, f": the tool failed ({text})") | {"last": True}), True
