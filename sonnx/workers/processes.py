"""Child processes that do the tasks of a run, one for each thread of an executor: `run_task` is what the thread runs.

A child lives as long as it answers.  It is replaced when it dies, when it takes longer than allowed, and when it ran
out of memory: what a task does to its child costs this task only.  Nothing that a child sends is more than JSON.
`child.py` is its side of the pipe.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sonnx.base.resources import PACKAGE
from sonnx.checker.report import NoVerdict
from sonnx.workers.journal import ToolIdentity, difference, identity
from sonnx.workers.tasks import Answer, Work, WorkerTask

CHILD_CODE = "from sonnx.workers.child import main; main()"


@dataclass(frozen=True)
class WorkerRun:
    """A run: its identifier, what it does, and on a cluster the program that every worker must have."""

    id: str
    work: Work
    wanted: ToolIdentity | None = None


@dataclass
class _Children:
    """The child processes of a run in this process, by thread."""

    problem: str = ""
    """Why this process does nothing for the run, "" if it does."""
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)


_RUNS: dict[str, _Children] = {}
_LOCK = threading.Lock()


def run_task(run: WorkerRun, task: WorkerTask) -> Answer:
    """The answer of the child process of this thread; a failure if it gives none."""
    children = _children(run)
    if children.problem:
        return run.work.failure(NoVerdict.FAILED, f": its worker has {children.problem}")
    try:
        process = _running(run, children)
    except OSError as error:
        reason = f": no process could be started ({error.filename}: {error.strerror})"
        return run.work.failure(NoVerdict.FAILED, reason)
    expired = threading.Event()
    timer = threading.Timer(run.work.bounds.timeout or 0, _expire, (process, expired))
    if run.work.bounds.timeout is not None:
        timer.start()
    try:
        answer = _exchange(process, task)
    finally:
        timer.cancel()
    if answer is None or "last" in answer:
        _stop(process)
    if answer is not None:
        return answer
    if children.problem:
        return run.work.interrupted
    if expired.is_set():
        return run.work.failure(NoVerdict.STOPPED, f" within {run.work.bounds.timeout:g} seconds (--timeout)")
    code = process.returncode
    ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return run.work.failure(NoVerdict.FAILED, f": its process ended with {ending}")


def end_run(run: WorkerRun) -> None:
    """End the child processes of a run; a task that still comes starts none."""
    with _LOCK:
        children = _RUNS.setdefault(run.id, _Children())
        children.problem = "ended the run"
        running = [*children.running.values()]
    for process in running:
        process.kill()
    for process in running:
        process.wait()


def forget_run(run: WorkerRun) -> None:
    """Close what is left of a run that no thread of this process works for any more."""
    end_run(run)
    for process in _RUNS.pop(run.id).running.values():
        _stop(process)


def _children(run: WorkerRun) -> _Children:
    with _LOCK:
        if run.id not in _RUNS:
            ours = None if run.wanted is None else identity(run.work.packages)
            _RUNS[run.id] = _Children("" if ours == run.wanted else difference(ours or {}, run.wanted or {}))
        return _RUNS[run.id]


def _running(run: WorkerRun, children: _Children) -> subprocess.Popen[str]:
    """The child process of this thread, started if it is absent or has ended."""
    thread = threading.get_ident()
    process = children.running.get(thread)
    if process is None or process.poll() is not None:
        if process is not None:
            _stop(process)
        process = _start(run.work)
        with _LOCK:
            children.running[thread] = process
        if children.problem:  # the run ended while it started
            process.kill()
        assert process.stdout is not None  # noqa: S101  (it is a pipe)
        process.stdout.readline()  # it is ready: its start does not count as time of a task
    return process


def _exchange(process: subprocess.Popen[str], task: WorkerTask) -> Answer | None:
    assert process.stdin is not None and process.stdout is not None  # noqa: S101  (both are pipes)
    try:
        process.stdin.write(json.dumps(task.request) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
    except (OSError, ValueError, RecursionError):  # killed while the pipe was in use
        return None
    return answer if isinstance(answer, dict) else None


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # unsent data are no longer needed
            if pipe is not None:
                pipe.close()


def _expire(process: subprocess.Popen[str], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _start(work: Work) -> subprocess.Popen[str]:
    bounds = [str(work.bounds.timeout or 0), str(work.bounds.memory or 0)]
    return subprocess.Popen(  # noqa: S603  (the interpreter that runs this, a constant, and a module of the program)
        [sys.executable, "-P", "-c", CHILD_CODE, work.module, work.done, *bounds],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL,
        cwd=work.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(_module_path())},
        encoding="ascii",
        start_new_session=True,  # only the parent handles interrupts of the terminal
    )


def _module_path() -> list[str]:
    """Where this process finds modules, without the current folder, unless the program is there."""
    here = Path.cwd()
    return [name for name in sys.path if name and (Path(name) != here or here == PACKAGE.parent)]
