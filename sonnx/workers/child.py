"""The process that works for another one: requests on its input, answers on its output, nothing else.

It ends with its input.  `isolation.py` is the other side.
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

from sonnx.base.errors import UsageError
from sonnx.checker.report import Why
from sonnx.workers.processes import receive, send
from sonnx.workers.tasks import Answer, Bounds, Work

PATIENCE = 5
"""Seconds after its time in which the child ends itself, should its parent be gone."""
MEGABYTE = 1 << 20

Worker = Callable[[Mapping[str, Any], bytes], Answer]
"""What the module of the work has: `answer`, to a request and to bytes, and `prepare` for what takes time before."""


def main() -> None:
    """Answer until there is no request any more; arguments: the module, the word, seconds and megabytes for a task."""
    name, done, timeout, memory = sys.argv[1:]
    work = Work(name, done, bounds=Bounds(float(timeout) or None, int(memory) or None))
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not speak in between
    module = import_module(name)
    module.prepare()
    if work.bounds.memory is not None:
        _limit_memory(work.bounds.memory * MEGABYTE)
    send(answers, b"ready")
    while _serve(requests, answers, work, module.answer):
        pass


def _serve(requests: BinaryIO, answers: BinaryIO, work: Work, worker: Worker) -> bool:
    asked, content = receive(requests), receive(requests)
    if asked is None or content is None:
        return False
    if hasattr(signal, "alarm") and work.bounds.timeout is not None:
        signal.alarm(ceil(work.bounds.timeout) + PATIENCE)
    answer = _answer(worker, json.loads(asked), content, work)
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    send(answers, json.dumps(answer).encode())
    return "last" not in answer


def _limit_memory(size: int) -> None:
    """Bound what the process writes to; a mapped file is not counted, so its size does not matter."""
    if sys.platform == "win32":  # it has no such bound
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard < 0 else min(size, hard), hard))


def _answer(worker: Worker, request: Mapping[str, Any], content: bytes, work: Work) -> Answer:
    """What the work gives, or why it gives nothing; the last one where the process is not fit for another task."""
    try:
        return worker(request, content)
    except UsageError as error:
        return {"misuse": str(error)}
    except MemoryError:
        text = f" within {work.bounds.memory} megabytes of memory (--memory)"
        return work.undone(Why.STOPPED, text) | {"last": True}
    except Exception as error:  # noqa: BLE001  one task must not end the run; the parent says what failed
        if "SONNX_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return work.undone(Why.FAILED, f": the tool failed ({text})") | {"last": True}
