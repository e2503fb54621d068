"""The process that judges models for another one: requests on its input, answers on its output, nothing else.

It ends with its input.  `isolation.py` is the other side.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

from sonnx.asked import Asked, judge, opened
from sonnx.many.frames import receive, send
from sonnx.many.stored import encode
from sonnx.misuse import Misuse
from sonnx.parse import Unreadable
from sonnx.results import Why

PATIENCE = 5
"""Seconds after its time in which the child ends itself, should its parent be gone."""


def main() -> None:
    """Answer until there is no request any more; arguments: bytes of memory, seconds for one model."""
    memory, timeout = int(sys.argv[1]), float(sys.argv[2])
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not speak in between
    _limit_memory(memory)
    send(answers, b"ready")
    while _serve(requests, answers, memory, timeout):
        pass


def _serve(requests: BinaryIO, answers: BinaryIO, memory: int, timeout: float) -> bool:
    asked, content = receive(requests), receive(requests)
    if asked is None or content is None:
        return False
    if hasattr(signal, "alarm"):
        signal.alarm(ceil(timeout) + PATIENCE)
    answer, fit = _answer(json.loads(asked), content, memory)
    send(answers, answer)
    return fit


def _limit_memory(size: int) -> None:
    """Bound what the process writes to; a mapped file is not counted, so its size does not matter."""
    if sys.platform == "win32":  # it has no such bound
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard < 0 else min(size, hard), hard))


def _answer(request: dict[str, Any], content: bytes, memory: int) -> tuple[bytes, bool]:
    """The report, or why there is none; and whether the process is fit for another model."""
    try:
        return json.dumps(_judged(request, content)).encode(), True
    except Misuse as error:
        return _said({"misuse": str(error)}), True
    except Unreadable as error:
        return _said({"sentence": str(error), "why": Why.UNREADABLE}), True
    except MemoryError:
        text = f"was not judged within {memory >> 20} megabytes of memory (--memory)"
        return _said({"sentence": text, "why": Why.STOPPED, "last": True}), False
    except Exception as error:  # noqa: BLE001  one model must not end the run; the parent says what failed
        if "SONNX_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return _said({"sentence": f"was not judged: the tool failed ({text})", "why": Why.FAILED, "last": True}), False


def _said(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode()


def _judged(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    name, inline, hashed, drawn, tailoring = map(request.pop, ("model", "inline", "hashed", "drawn", "tailoring"))
    asked = Asked(**request, tailoring=_tailoring(tailoring))
    model, digest = opened(content if inline else name, hashed, asked.limits)
    report = judge(model, digest, asked, name, drawn)
    return {"report": encode(replace(report, tailoring=None))}  # the parent has it


def _tailoring(path: str | None) -> Any:
    if path is None:
        return None
    from sonnx import tailoring  # most runs have none

    return tailoring.read(Path(path))
