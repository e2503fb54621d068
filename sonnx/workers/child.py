"""The main program of a child process: requests on its standard input, answers on its standard output.

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

from sonnx.base.errors import UsageError
from sonnx.checker.report import NoVerdict
from sonnx.workers.processes import receive, send
from sonnx.workers.tasks import Answer, Bounds, Work

GRACE_SECONDS = 5
"""Seconds after its time limit at which the child ends itself, in case the parent is gone."""
MEGABYTE = 1 << 20

Worker = Callable[[Mapping[str, Any], bytes], Answer]
"""The function `answer` of the module: a request and content in, an answer out."""


def main() -> None:
    """Answer requests until the input ends; arguments: module, participle, seconds and megabytes for each task."""
    name, done, timeout, memory = sys.argv[1:]
    work = Work(name, done, bounds=Bounds(float(timeout) or None, int(memory) or None))
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of a task go to standard error, not between the answers
    module = import_module(name)
    module.prepare()
    if work.bounds.memory is not None:
        _limit_memory(work.bounds.memory * MEGABYTE)
    send(answers, b"ready")
    while _serve(requests, answers, work, module.answer):
        pass


def _serve(requests: BinaryIO, answers: BinaryIO, work: Work, worker: Worker) -> bool:
    request, content = receive(requests), receive(requests)
    if request is None or content is None:
        return False
    if hasattr(signal, "alarm") and work.bounds.timeout is not None:
        signal.alarm(ceil(work.bounds.timeout) + GRACE_SECONDS)
    answer = _answer(worker, json.loads(request), content, work)
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    send(answers, json.dumps(answer).encode())
    return "last" not in answer


def _limit_memory(size: int) -> None:
    """Limit the memory of the process; mapped files do not count."""
    if sys.platform == "win32":  # no such limit there
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard < 0 else min(size, hard), hard))


def _answer(worker: Worker, request: Mapping[str, Any], content: bytes, work: Work) -> Answer:
    """The answer to a request; `last` if the process must not run another task."""
    try:
        return worker(request, content)
    except UsageError as error:
        return {"misuse": str(error)}
    except MemoryError:
        text = f" within {work.bounds.memory} megabytes of memory (--memory)"
        return work.failure(NoVerdict.STOPPED, text) | {"last": True}
    except Exception as error:  # noqa: BLE001  one task must not end the run; the parent reports the failure
        if "SONNX_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return work.failure(NoVerdict.FAILED, f": the tool failed ({text})") | {"last": True}
