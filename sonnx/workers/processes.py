"""Child processes that do the tasks of a run, one for each thread of an executor: `run_task` is what the thread runs.

A child lives as long as it answers.  It is replaced when it dies, when it takes longer than allowed, and when it ran
out of memory: what a task does to its child costs this task only.  Nothing that a child sends is more than JSON.
`child.py` is its side of the pipe.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field

from sonnx.base import child_process
from sonnx.base.child_process import ChildProcess, ending
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
    running: dict[int, ChildProcess] = field(default_factory=dict)


_RUNS: dict[str, _Children] = {}
_LOCK = threading.Lock()


def run_task(run: WorkerRun, task: WorkerTask) -> Answer:
    """The answer of the child process of this thread; a failure if it gives none."""
    children = _children(run)
    if children.problem:
        return run.work.failure(NoVerdict.FAILED, f": its worker has {children.problem}")
    try:
        child = _running(run, children)
    except OSError as error:
        reason = f": no process could be started ({error.filename}: {error.strerror})"
        return run.work.failure(NoVerdict.FAILED, reason)
    expired = threading.Event()
    timer = threading.Timer(run.work.bounds.timeout or 0, _expire, (child, expired))
    if run.work.bounds.timeout is not None:
        timer.start()
    try:
        answer = _exchange(child, task)
    finally:
        timer.cancel()
    if answer is None or "last" in answer:
        child.end()
    if answer is not None:
        return answer
    if children.problem:
        return run.work.interrupted
    if expired.is_set():
        return run.work.failure(NoVerdict.STOPPED, f" within {run.work.bounds.timeout:g} seconds (--timeout)")
    return run.work.failure(NoVerdict.FAILED, f": its process ended with {ending(child.process.returncode)}")


def end_run(run: WorkerRun) -> None:
    """End the child processes of a run; a task that still comes starts none."""
    with _LOCK:
        children = _RUNS.setdefault(run.id, _Children())
        children.problem = "ended the run"
        running = [*children.running.values()]
    for child in running:
        child.kill()
    for child in running:
        child.process.wait()


def forget_run(run: WorkerRun) -> None:
    """Close what is left of a run that no thread of this process works for any more."""
    end_run(run)
    for child in _RUNS.pop(run.id).running.values():
        child.end()


def _children(run: WorkerRun) -> _Children:
    with _LOCK:
        if run.id not in _RUNS:
            ours = None if run.wanted is None else identity(run.work.packages)
            _RUNS[run.id] = _Children("" if ours == run.wanted else difference(ours or {}, run.wanted or {}))
        return _RUNS[run.id]


def _running(run: WorkerRun, children: _Children) -> ChildProcess:
    """The child process of this thread, started if it is absent or has ended."""
    thread = threading.get_ident()
    child = children.running.get(thread)
    if child is None or child.process.poll() is not None:
        if child is not None:
            child.end()
        bounds = [str(run.work.bounds.timeout or 0), str(run.work.bounds.memory or 0)]
        child = child_process.start(CHILD_CODE, [run.work.module, run.work.done, *bounds], folder=run.work.folder)
        with _LOCK:
            children.running[thread] = child
        if children.problem:  # the run ended while it started
            child.kill()
        assert child.process.stdout is not None  # noqa: S101  (it is a pipe)
        child.process.stdout.readline()  # it is ready: its start does not count as time of a task
    return child


def _exchange(child: ChildProcess, task: WorkerTask) -> Answer | None:
    process = child.process
    assert process.stdin is not None and process.stdout is not None  # noqa: S101  (both are pipes)
    try:
        process.stdin.write(json.dumps(task.request).encode("ascii") + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
    except (OSError, ValueError, RecursionError):  # killed while the pipe was in use
        return None
    return answer if isinstance(answer, dict) else None


def _expire(child: ChildProcess, expired: threading.Event) -> None:
    expired.set()
    child.kill()
