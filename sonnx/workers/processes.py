"""ChildProcess processes that work for this one: what a task does to its child is seen here and survived.

A child lives as long as it answers.  It is replaced when it dies, when it takes longer than allowed, and when it ran
out of memory.  `child.py` is its side of the pipe.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from sonnx.base.resources import PACKAGE
from sonnx.checker.report import NoVerdict
from sonnx.workers.tasks import Answer, Task, Work

CHILD_CODE = "from sonnx.workers.child import main; main()"


class ChildProcess:
    """One child process at a time, started when it is needed."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.process: subprocess.Popen[bytes] | None = None
        self.closed = False

    def run_task(self, task: Task) -> Answer:
        """The answer to one task; a failure if the process gives none."""
        if self.closed:
            return self.work.interrupted
        try:
            process = self._running()
        except OSError as error:
            return self.work.failure(
                NoVerdict.FAILED, f": no process could be started ({error.filename}: {error.strerror})"
            )
        expired = threading.Event()
        timer = self._timer(process, expired)
        try:
            answer = self._exchange(process, task)
        finally:
            if timer is not None:
                timer.cancel()
        if answer is None:
            self.stop()
            return self._unanswered(process.returncode, expired.is_set())
        if answer.get("last"):  # it ends after this answer
            self.stop()
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.process = _start(self.work)
            if self.closed:  # closed while it started
                self.process.kill()
            assert self.process.stdout is not None  # noqa: S101  (it is a pipe)
            receive(self.process.stdout)  # "ready": its start does not count as time of a task
        return self.process

    def _timer(self, process: subprocess.Popen[bytes], expired: threading.Event) -> threading.Timer | None:
        if self.work.bounds.timeout is None:
            return None
        timer = threading.Timer(self.work.bounds.timeout, _end, (process, expired))
        timer.start()
        return timer

    def _exchange(self, process: subprocess.Popen[bytes], task: Task) -> Answer | None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  (both are pipes)
        try:
            send(process.stdin, json.dumps(task.request).encode())
            send(process.stdin, task.content or b"")
            answer = receive(process.stdout)
            return None if answer is None else json.loads(answer)
        except (OSError, ValueError):  # killed while the pipe was in use
            return None

    def _unanswered(self, code: int | None, expired: bool) -> Answer:
        if self.closed:
            return self.work.interrupted
        if expired:
            return self.work.failure(NoVerdict.STOPPED, f" within {self.work.bounds.timeout:g} seconds (--timeout)")
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return self.work.failure(NoVerdict.FAILED, f": its process ended with {name}")

    def stop(self) -> None:
        """End the process at once."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unsent data are no longer needed
                    pipe.close()

    def close(self) -> None:
        """End the process for good, from another thread."""
        self.closed = True
        process = self.process
        if process is not None:
            process.kill()


def _end(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _is_working_folder(folder: str) -> bool:
    """Whether a folder of the path is the working folder, which `python -m` adds; not where the program is there."""
    return Path(folder).resolve() == Path.cwd() != PACKAGE.parent.resolve()


def _start(work: Work) -> subprocess.Popen[bytes]:
    # The child loads the same modules as this process, and none from the working folder.
    path = os.pathsep.join(each for each in sys.path if each and not _is_working_folder(each))
    details = None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL
    bounds = [str(work.bounds.timeout or 0), str(work.bounds.memory or 0)]
    return subprocess.Popen(  # noqa: S603  (the interpreter that runs this, a constant, and a module of the program)
        [sys.executable, "-P", "-c", CHILD_CODE, work.module, work.done, *bounds],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=details,
        cwd=work.folder,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # only the parent handles interrupts of the terminal
    )


class ChildProcesses:
    """A child process for each thread that runs a task at a time."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.started_tasks = 0
        """Grows with each task; concurrent tasks may be counted once."""
        self.idle: list[ChildProcess] = []
        self.processes: list[ChildProcess] = []
        self.closed = False

    def run_task(self, task: Task) -> Answer:
        """The answer of an idle child process."""
        self.started_tasks += 1
        child = self._taken()
        try:
            return child.run_task(task)
        finally:
            self.idle.append(child)

    def _taken(self) -> ChildProcess:
        try:
            return self.idle.pop()
        except IndexError:
            child = ChildProcess(self.work)
            self.processes.append(child)
            child.closed = self.closed  # close() may have run since
            return child

    def stop_idle(self) -> None:
        """End idle processes; they start again when they are needed."""
        idle = []
        with suppress(IndexError):
            while True:
                idle.append(self.idle.pop())
        for child in idle:
            child.stop()
        self.idle += idle

    def close(self) -> None:
        """End all processes; their tasks fail."""
        self.closed = True
        self.stop_idle()
        for child in self.processes:
            child.close()


# ------------------------------------------------------------------ messages on a pipe: eight bytes of length, content


_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write one message."""
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None if the other side ended, even in the middle of a message."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = pipe.read(length)
    return content if len(content) == length else None
