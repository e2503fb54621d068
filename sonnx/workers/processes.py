"""Child processes that do the tasks of a run, one for each thread of an executor: `run_task` is what the thread runs.

A child lives as long as it answers.  It is replaced when it dies, when it takes longer than allowed, and when it ran
out of memory: what a task does to its child costs this task only.  Nothing that a child sends is more than JSON.
`task_service.py` is what the child runs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from sonnx.checker.report import NoVerdict
from sonnx.supervise.identity import TOOL, Identity, differing, tool_identity
from sonnx.supervise.process import End, ProcessEnded
from sonnx.supervise.service import Service, ServiceLimits
from sonnx.workers.tasks import Answer, Work, WorkerTask, decoded_message, encoded_message

IDLE_SECONDS = 60
"""Seconds without a task after which a child ends itself: the run it belongs to may be gone."""


@dataclass(frozen=True)
class WorkerRun:
    """A run: its identifier, what it does, and on a cluster the program that every worker must have."""

    id: str
    work: Work
    program: Identity | None = None


@dataclass
class _Children:
    """The child processes of a run in this process, by thread."""

    problem: str = ""
    """Why this process does nothing for the run, "" if it does."""
    running: dict[int, Service] = field(default_factory=dict)


_RUNS: dict[str, _Children] = {}
_LOCK = threading.Lock()


def run_task(run: WorkerRun, task: WorkerTask) -> Answer:
    """The answer of the child process of this thread; a failure if it gives none."""
    children, work = _children(run), run.work
    if children.problem:
        return work.failure(NoVerdict.FAILED, f": its worker has {children.problem}")
    try:
        return _running(run, children).ask(encoded_message(task.request), decoded_message)
    except OSError as error:
        reason = f": no process could be started ({error.filename}: {error.strerror})"
        return work.failure(NoVerdict.FAILED, reason)
    except ProcessEnded as ended:
        return work.interrupted if children.problem else _without_answer(work, ended)


def end_run(run: WorkerRun) -> None:
    """End the child processes of a run; a task that still comes starts none."""
    with _LOCK:
        children = _RUNS.setdefault(run.id, _Children())
        children.problem = "ended the run"
        running = [*children.running.values()]
    for child in running:
        child.kill()
    for child in running:
        child.process.popen.wait()


def forget_run(run: WorkerRun) -> None:
    """Close what is left of a run that no thread of this process works for any more."""
    end_run(run)
    for child in _RUNS.pop(run.id).running.values():
        child.end()


def difference(theirs: Identity, ours: Identity) -> str:
    """The first difference between the programs of two machines, which differ."""
    name = differing(theirs, ours) or TOOL
    if name == TOOL:
        return "another version of sonnx, or other rules"
    package = name.removeprefix("version of ")
    return f"{package} {theirs.get(name) or '(not installed)'}, not {ours.get(name) or 'none'} as here"


def _children(run: WorkerRun) -> _Children:
    with _LOCK:
        if run.id not in _RUNS:
            ours = None if run.program is None else tool_identity(run.work.packages)
            _RUNS[run.id] = _Children("" if ours == run.program else difference(ours or {}, run.program or {}))
        return _RUNS[run.id]


def _running(run: WorkerRun, children: _Children) -> Service:
    """The child process of this thread, started if it is absent or has ended.

    Raises:
        OSError: no process can be started.
        ProcessEnded: it ended before it was ready.
    """
    thread, work = threading.get_ident(), run.work
    child = children.running.get(thread)
    if child is None or not child.is_running:
        if child is not None:
            child.end()
        limits = ServiceLimits(work.bounds.timeout, work.bounds.memory, IDLE_SECONDS)
        child = Service("sonnx.workers.task_service", [work.module], limits, work.folder)
        with _LOCK:
            children.running[thread] = child
        if children.problem:  # the run ended while it started
            child.kill()
        child.greeting(lambda _: None)  # its start does not count as time of a task
    return child


def _without_answer(work: Work, ended: ProcessEnded) -> Answer:
    match ended.end:
        case End.TIMED_OUT:
            return work.failure(NoVerdict.STOPPED, f" within {work.bounds.timeout:g} seconds (--timeout)")
        case End.OUT_OF_MEMORY:
            return work.failure(NoVerdict.STOPPED, work.bounds.no_memory)
        case End.FAILED:
            return work.failure(NoVerdict.FAILED, f": the tool failed ({ended.detail})")
        case _:
            return work.failure(NoVerdict.FAILED, f": its process {ended}")
