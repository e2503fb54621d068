"""A property of a chain of layers, decided in rounds: in this process or elsewhere, with its parts kept in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import json_value, regular_bytes, unusable_because, write_whole
from sonnx.base.resources import own_hash
from sonnx.properties.chain_search import ChainTask, Tree, Waiting, conclude, decide_chain, open_parts
from sonnx.properties.search import Decision

FIRST_SECONDS, MOST_SECONDS = 2.0, 30.0
"""How long the first round takes, which is in this process, and how long others take at most."""
MAX_BYTES = 1 << 30
"""Of a file of parts."""
Progress = Callable[[str], None]


class Elsewhere(Protocol):
    """Decides parts of a task in other processes for some seconds, and completes their trees."""

    def __call__(self, task: ChainTask, parts: Sequence[Waiting], seconds: float) -> Decision:
        """How many parts were bounded and wait, the least margin, and an input that violates the property."""


class TaskParts(NamedTuple):
    """The parts of a task: their tree, how many were bounded, and the least margin of those that are shown."""

    tree: Tree
    parts: int = 0
    margin: float = float("inf")


class PartsFile:
    """The file of `--resume`: the parts of the tasks of a property, written whole after each round."""

    def __init__(self, path: Path, about: Sequence[str]) -> None:
        """Read the file, if it exists.

        Args:
            path: the file.
            about: what the parts depend on: the model, the property, the hypotheses.

        Raises:
            UsageError: it is not such a file, or of another property, model or version.
        """
        rests_on = json.dumps([own_hash(), *about])
        self.path, self.key = path, hashlib.sha256(rests_on.encode()).hexdigest()
        self.tasks: list[TaskParts] = []
        if not path.exists():
            return
        try:
            data = json_value(regular_bytes(path, MAX_BYTES))
            written_for, self.tasks = data["for"], [_task_parts(each) for each in data["tasks"]]
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise UsageError(f"{quote(str(path))} is not a file of parts ({unusable_because(reason)})") from None
        if written_for != self.key:
            raise UsageError(
                f"{quote(str(path))} was written for another property, model, hypotheses or version; name another file"
            )

    def keep(self, number: int, parts: TaskParts) -> None:
        """Write the parts of a task."""
        self.tasks[number:] = [parts]
        tasks = [{"tree": task.tree, "parts": task.parts, "margin": repr(task.margin)} for task in self.tasks]
        write_whole(self.path, json.dumps({"for": self.key, "tasks": tasks}, separators=(",", ":")) + "\n")


def _task_parts(data: dict[str, Any]) -> TaskParts:
    tree = data["tree"]
    if not isinstance(tree, dict):
        raise TypeError("a tree is an object")
    return TaskParts(tree, int(data["parts"]), float(data["margin"]))


def decide_in_rounds(
    task: ChainTask, number: int, end: float, file: PartsFile | None = None, elsewhere: Elsewhere | None = None,
    progress: Progress | None = None,
) -> tuple[Decision, Tree]:  # fmt: skip
    """Decide a task; the tree of its parts is complete where the property holds.

    Args:
        task: what is decided.
        number: of the task in the property.
        end: the time, as `monotonic` has it, after which no part is bounded.
        file: keeps the parts.
        elsewhere: decides parts in other processes after the first round.
        progress: told how far it is.
    """
    known = file.tasks[number] if file is not None and number < len(file.tasks) else TaskParts({})
    tree, parts, margin = known
    seconds, first = FIRST_SECONDS, True
    while True:
        open_now = open_parts(tree, task.low, task.high)
        left = max(0.0, end - monotonic())
        if first or elsewhere is None:
            # One round is enough where nothing is kept.
            until = end if elsewhere is None and file is None else monotonic() + min(left, seconds)
            decision = decide_chain(task, until, open_now, progress)
        else:
            decision = elsewhere(task, open_now, min(left, seconds))
            conclude(decision, open_parts(tree, task.low, task.high), task)
            if progress is not None:
                progress(
                    f"{parts + decision.parts} parts, {decision.shown:.1%} of the volume shown, {decision.left} open"
                )
        parts, margin = parts + decision.parts, min(margin, decision.margin)
        if file is not None:
            file.keep(number, TaskParts(tree, parts, margin))
        if decision.witness is not None or not decision.waiting or monotonic() >= end:
            break
        seconds, first = min(2 * seconds, MOST_SECONDS), False
    decision.parts, decision.margin = parts, margin
    return decision, tree
