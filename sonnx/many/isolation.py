"""Child processes that judge models for this one: what a model does to its child is seen here and survived.

A child lives as long as it answers.  It is replaced when it dies, when it takes longer than allowed, and when it ran
out of memory.  `child.py` is its side of the pipe.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sonnx.asked import Asked
from sonnx.many.frames import receive, send
from sonnx.results import Why

CODE = "from sonnx.many.child import main; main()"
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """What one model may cost: seconds, and megabytes of memory beside the mapped file."""

    timeout: float = 300
    memory: int = 4096


@dataclass(frozen=True, slots=True)
class Task:
    """A model and what is asked of it.

    `model` is a path, or a name where there is `content`.  `tailoring` is the file of the tailoring, which the child
    reads again; `hashed` asks for the hash of what is judged, `drawn` for the outline of its
    graph.
    """

    model: str
    asked: Asked
    tailoring: str | None = None
    hashed: bool = False
    drawn: bool = False
    content: bytes | None = None

    def options(self) -> dict[str, Any]:
        """All but the model, as JSON."""
        asked = self.asked
        return {
            "edition": asked.edition, "bind": dict(asked.bind), "select": asked.select, "ignore": asked.ignore,
            "strict_versions": asked.strict_versions, "limits": dict(asked.limits), "tailoring": self.tailoring,
            "hashed": self.hashed, "drawn": self.drawn,
        }  # fmt: skip


Answer = dict[str, Any]
"""What comes back: `report`, or `sentence` and `why`, or `misuse`."""

INTERRUPTED: Answer = {"sentence": "was not judged: the run was interrupted", "why": Why.STOPPED}


class Child:
    """One child process at a time, started when it is needed."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.process: subprocess.Popen[bytes] | None = None
        self.closed = False

    def ask(self, task: Task) -> Answer:
        """The answer on one model; a sentence where the child gives none."""
        if self.closed:
            return INTERRUPTED
        process = self._running()
        expired = threading.Event()
        timer = threading.Timer(self.bounds.timeout, _end, (process, expired))
        timer.start()
        try:
            answer = self._exchange(process, task)
        finally:
            timer.cancel()
        if answer is None:
            self.stop()
            return self._unanswered(process.returncode, expired.is_set())
        if answer.get("last"):  # it is ending, and must not be asked again
            self.stop()
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.process = _start(self.bounds)
            if self.closed:  # meanwhile
                self.process.kill()
            assert self.process.stdout is not None  # noqa: S101  (it is a pipe)
            receive(self.process.stdout)  # it is ready: its start is no part of any model's time
        return self.process

    def _exchange(self, process: subprocess.Popen[bytes], task: Task) -> Answer | None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  (both are pipes)
        try:
            send(process.stdin, _asked(task))
            send(process.stdin, task.content or b"")
            answer = receive(process.stdout)
            return None if answer is None else json.loads(answer)
        except (OSError, ValueError):  # killed while the pipe was in use
            return None

    def _unanswered(self, code: int | None, expired: bool) -> Answer:
        if self.closed:
            return INTERRUPTED
        if expired:
            text = f"was not judged within {self.bounds.timeout:g} seconds (--timeout)"
            return {"sentence": text, "why": Why.STOPPED}
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return {"sentence": f"was not judged: the process that judged it ended with {name}", "why": Why.FAILED}

    def stop(self) -> None:
        """End the process, whatever it does."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what could not be sent is not wanted any more
                    pipe.close()

    def close(self) -> None:
        """End the process for good, from another thread."""
        self.closed = True
        if self.process is not None:
            self.process.kill()


def _end(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _asked(task: Task) -> bytes:
    inline = task.content is not None
    return json.dumps({"model": task.model, "inline": inline, **task.options()}).encode()


def _start(bounds: Bounds) -> subprocess.Popen[bytes]:
    # Modules come from where this process has them, and never from the folder the user stands in.
    path = os.pathsep.join(filter(None, sys.path))
    details = None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603  (the interpreter that runs this, and a constant)
        [sys.executable, "-P", "-c", CODE, str(bounds.memory * MEGABYTE), str(bounds.timeout)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=details,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # an interrupt at the terminal is for the parent
    )
