"""A property of a chain of layers, decided in rounds: in this process or elsewhere, with its parts kept in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.numerics.formats import Array
from sonnx.properties.chain_search import ChainPart, ChainTask, Tree, conclude, decide_chain, open_parts
from sonnx.properties.phases import decide_by_phases
from sonnx.properties.search import Decision
from sonnx.supervise.identity import Identity
from sonnx.supervise.journal import Journal
from sonnx.supervise.search import SearchLimit

FIRST_SECONDS, MOST_SECONDS = 2.0, 30.0
"""How long the first round takes, which is in this process, and how long others take at most."""
HALVED, SIGNS = 10, 0.7
"""Inputs up to which boxes are only halved; of more, the share of the time in which signs of neurons come first."""
JOURNAL = "verify"
"""The kind of the files that keep parts."""
Progress = Callable[[str], None]


class Elsewhere(Protocol):
    """Decides parts of a task in other processes for some seconds, and completes their trees."""

    def __call__(self, task: ChainTask, parts: Sequence[ChainPart], seconds: float) -> Decision:
        """How many parts were bounded and wait, the least margin, and an input that violates the property."""


class TaskParts(NamedTuple):
    """The parts of a task: their tree, how many were bounded, and the least margin of those that are shown."""

    tree: Tree
    parts: int = 0
    margin: float = float("inf")


class KeptParts:
    """The parts of the tasks of a property in the file of `--resume`, each task written after each round.

    Args:
        path: the file.
        identity: what the parts depend on.

    Raises:
        BadInput: it is not such a file, or of another property, model or version.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self.journal = Journal(path, JOURNAL, identity)

    def task(self, number: int, low: Array, high: Array) -> TaskParts:
        """The parts of a task with a box, from the smallest to the largest input.

        Raises:
            BadInput: the file is damaged.
        """
        data: Any = self.journal.values.get(str(number))
        if data is None:
            return TaskParts({})
        try:
            parts = TaskParts(data["tree"], int(data["parts"]), float.fromhex(data["margin"]))
            if not all(part.tree.keys() <= {"open"} for part in open_parts(parts.tree, low, high)):
                raise ValueError("a leaf has something else than a stage")
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError):
            shown = quote(str(self.journal.path))
            raise BadInput(f"{shown} is a damaged --resume journal; name another file") from None
        return parts

    def keep(self, number: int, task: TaskParts) -> None:
        """Write the parts of a task."""
        self.journal.update({str(number): {"tree": task.tree, "parts": task.parts, "margin": task.margin.hex()}})


def decide_in_rounds(
    task: ChainTask, number: int, limit: SearchLimit, kept: KeptParts | None = None, elsewhere: Elsewhere | None = None,
    progress: Progress | None = None,
) -> tuple[Decision, Tree]:  # fmt: skip
    """Decide a task; the tree of its parts is complete where the property holds.

    Args:
        task: what is decided.
        number: of the task in the property.
        limit: after which no part is bounded.
        kept: keeps the parts.
        elsewhere: decides parts in other processes after the first round.
        progress: called with the share of the box that is decided.

    Raises:
        BadInput: the file that keeps the parts is damaged.
    """
    by_signs = 0
    if kept is None and elsewhere is None and len(task.low) > HALVED:
        decision, tree_of_signs = decide_by_phases(task, limit.share(SIGNS), progress)
        if tree_of_signs is not None:
            return decision, tree_of_signs
        by_signs = decision.parts
    tree, parts, margin = TaskParts({}) if kept is None else kept.task(number, task.low, task.high)
    limit = limit.less(by_signs)
    seconds, is_first = FIRST_SECONDS, True
    while True:
        open_now = open_parts(tree, task.low, task.high)
        if is_first or elsewhere is None:
            # One round is enough where nothing is kept.
            alone = elsewhere is None and kept is None
            round_limit = limit if alone else SearchLimit.after(min(limit.seconds, seconds))
            decision = decide_chain(task, round_limit, open_now, progress)
        else:
            decision = elsewhere(task, open_now, min(limit.seconds, seconds))
            conclude(decision, open_parts(tree, task.low, task.high), task)
            if progress is not None:
                progress(
                    f"{parts + decision.parts} parts, {decision.shown:.1%} of the volume shown, {decision.left} open"
                )
        parts, margin = parts + decision.parts, min(margin, decision.margin)
        if kept is not None:
            kept.keep(number, TaskParts(tree, parts, margin))
        if decision.witness is not None or not decision.waiting or limit.less(parts).is_reached:
            break
        seconds, is_first = min(2 * seconds, MOST_SECONDS), False
    decision.parts, decision.margin = by_signs + parts, margin
    return decision, tree
