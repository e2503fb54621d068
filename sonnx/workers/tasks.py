"""What is done many times over: tasks, what each may cost, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonnx.checker.report import Why

Answer = dict[str, Any]
"""What comes back, as JSON: the result of the work, or `sentence` and `why`, or `misuse`."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one task may cost: seconds, and megabytes of memory beside mapped files; None: no bound."""

    timeout: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """The same work for every task: child processes in `folder` call `prepare` of `module` once, then `answer`.

    `done` is the word for a task that has its answer: judged, decided.
    """

    module: str
    done: str
    packages: tuple[str, ...] = ()
    """The distributions an answer depends on."""
    bounds: Bounds = Bounds()
    folder: str | None = None

    def undone(self, why: Why, reason: str) -> Answer:
        """The answer for a task that has none."""
        return {"sentence": f"was not {self.done}{reason}", "why": why}

    @property
    def interrupted(self) -> Answer:
        """The answer where the run was interrupted."""
        return self.undone(Why.STOPPED, ": the run was interrupted")


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work: its name, what is asked as JSON, and bytes where it is about them."""

    name: str
    request: Mapping[str, Any]
    content: bytes | None = None
