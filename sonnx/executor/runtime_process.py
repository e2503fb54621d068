"""The main program of the process of a runtime; `isolation.py` is its other side.

It ends with its input.  What the runtime prints goes nowhere, not between the messages.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from sonnx.base.budget import memory_limit
from sonnx.base.child_process import hold_lease
from sonnx.executor.runtime_messages import (
    LENGTH_BYTES,
    REQUESTS,
    Done,
    Load,
    NotInstalled,
    Optimize,
    Optimized,
    Outputs,
    RefusedMessage,
    Reply,
    Started,
    arrays_of,
    framed,
    messages_of,
)
from sonnx.executor.runtimes import Failure, Loaded, Runtime, optimizer_of, runtime_class

GRACE_SECONDS = 5
"""Seconds after its time limit at which the process ends itself, in case its parent is gone."""


def main() -> None:
    """Answer requests until the input ends; arguments: the runtime, seconds and megabytes for each request, a lease."""
    name, seconds, megabytes, *held = sys.argv[1:]
    hold_lease(held)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with memory_limit(int(megabytes)):
        try:
            runtime: Runtime = runtime_class(name)()
        except ImportError:
            _send(answers, NotInstalled())
            return
        _send(answers, Started(runtime.title))
        _serve(runtime, answers, int(seconds))


def _serve(runtime: Runtime, answers: BinaryIO, seconds: int) -> None:
    loaded: dict[int, Loaded] = {}
    while (length := sys.stdin.buffer.read(LENGTH_BYTES)) and len(length) == LENGTH_BYTES:
        request = REQUESTS.decode(sys.stdin.buffer.read(int.from_bytes(length, "little")))
        if hasattr(signal, "alarm"):
            signal.alarm(seconds + GRACE_SECONDS)
        reply: Reply
        try:
            if isinstance(request, Load):
                loaded[request.number] = runtime.load(*_model(request))
                reply = Done()
            elif isinstance(request, Optimize):
                reply = Optimized(optimizer_of(runtime)(*_model(request), request.level))
            else:
                reply = Outputs(messages_of(loaded[request.number](arrays_of(request.inputs))))
        except Failure as failure:
            reply = RefusedMessage(str(failure))
        except Exception as error:  # noqa: BLE001  (an adapter may raise anything, and goes on with the next request)
            lines = str(error).strip().splitlines() or [""]
            reply = RefusedMessage(f"{type(error).__name__}: {lines[0]}")
        _send(answers, reply)
        if hasattr(signal, "alarm"):
            signal.alarm(0)


def _model(request: Load | Optimize) -> tuple[bytes | Path, Path | None]:
    model = Path(request.path) if request.path is not None else request.data or b""
    return model, None if request.folder is None else Path(request.folder)


def _send(answers: BinaryIO, reply: Reply) -> None:
    answers.write(framed(reply))
    answers.flush()
