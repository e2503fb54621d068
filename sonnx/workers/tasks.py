"""The tasks of a run, their limits, and their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonnx.base.escaping import plural
from sonnx.base.files import json_value
from sonnx.checker.report import NoVerdict

Answer = dict[str, Any]
"""The answer to a task, as JSON: the result with its `word`, or `sentence` and `why`, or `misuse` for wrong use."""


def encoded_message(data: Mapping[str, Any]) -> bytes:
    """A request or an answer as it is sent: JSON, which has numbers of any size and names that are not UTF-8."""
    return json.dumps(data).encode("ascii")


def decoded_message(data: bytes | bytearray) -> dict[str, Any]:
    """The request or answer that was sent.

    Raises:
        ValueError: the data are something else.
    """
    value = json_value(data)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """The limits of one task: seconds, and megabytes of memory without mapped files; None stands for unlimited."""

    timeout: float | None = None
    memory: int | None = None

    @property
    def no_memory(self) -> str:
        """The end of a sentence about a task that takes more memory."""
        return f" within {plural(self.memory or 0, 'megabyte')} of memory (--memory)"


@dataclass(frozen=True, slots=True)
class Work:
    """What is done for every task: child processes in `folder` call `prepare` of `module` once, then `answer`.

    `done` is the participle in messages on tasks without an answer: "was not checked".
    """

    module: str
    done: str
    packages: tuple[str, ...] = ()
    """The distributions that an answer depends on."""
    bounds: TaskLimits = TaskLimits()
    folder: str | None = None

    def failure(self, why: NoVerdict, reason: str) -> Answer:
        """The answer for a task without a result."""
        return {"sentence": f"was not {self.done}{reason}", "why": why}

    @property
    def interrupted(self) -> Answer:
        """The answer for the remaining tasks of an interrupted run."""
        return self.failure(NoVerdict.STOPPED, ": the run was interrupted")


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """One task: its name and its request as JSON."""

    name: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where the tasks of a run are done, in processes of this machine or on a Dask cluster, and the limits of each."""

    jobs: int | None = None
    """How many at a time; by default the cores."""
    cluster: str | None = None
    """The address of a Dask scheduler."""
    timeout: float | None = None
    """Seconds for each task."""
    memory: int | None = None
    """Megabytes for each task."""

    def bounds(self, timeout: float | None = None, memory: int | None = None) -> TaskLimits:
        """The limits of each task, with those that hold where none is stated."""
        return TaskLimits(self.timeout or timeout, self.memory or memory)


HERE = WorkPlace()
"""The cores of this machine, with the limits of the work."""
