"""Bisection of a box: smaller boxes have smaller errors and decisions that the whole box does not show.

The box with the largest error, or with an open decision, is halved along the input element that moves the output most.
What is shown for all parts holds for the whole box: the range is the hull of theirs, the error the largest one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic
from typing import Any

import numpy as np

from sonnx.bounds import adjoint
from sonnx.bounds.analysis import Analyser, Run, decide, tightened
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import Bounds, Decision
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import Array

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Goal:
    """What is to be shown of each part: an error of the output of at most this, and decisions that are the same."""

    error: float | None
    differences: Sequence[tuple[int, int]]
    argmax: bool

    def reached(self, output: Value, decisions: Sequence[Decision]) -> bool:
        """Whether a part shows it."""
        if output.unbounded:
            return False
        small = self.error is None or float(output.error.max(initial=0.0)) <= self.error
        return small and all(each.same for each in decisions)

    @property
    def is_stated(self) -> bool:
        """Whether there is something to show; else the largest error is made smaller while there is time."""
        return self.error is not None or bool(self.differences) or self.argmax


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the box with what is known of the first output there."""

    box: Box
    volume: float
    output: Value
    decisions: tuple[Decision, ...]
    sensitivity: Mapping[str, Array]


def bisect(
    analyser: Analyser, box: Box, whole: Bounds, goal: Goal, seconds: float, progress: Progress | None = None
) -> Bounds:
    """The bounds of a model with those of its first output by parts of the box.

    Args:
        analyser: of the model.
        box: the whole box.
        whole: its bounds without bisection.
        goal: what is to be shown.
        seconds: after which no part is halved any more.
        progress: told how far it is.
    """
    end, order = monotonic() + seconds, count()
    first = _part(analyser, box, 1.0, goal)
    open_parts: list[tuple[float, int, Part]] = [(_rank(first, goal), next(order), first)]
    done: list[Part] = []
    number, shown = 1, 0.0
    stuck = False
    while open_parts and monotonic() < end:
        *_, part = heapq.heappop(open_parts)
        if goal.is_stated and goal.reached(part.output, part.decisions):
            done.append(part)
            shown += part.volume
            continue
        halves = _halves(part)
        if halves is None:
            heapq.heappush(open_parts, (0.0, next(order), part))
            stuck = True
            break
        for half in halves:
            made = _part(analyser, half, part.volume / 2, goal)
            number += 1
            heapq.heappush(open_parts, (_rank(made, goal), next(order), made))
        if progress is not None and number % 32 == 1:
            progress(f"{number} boxes, {shown:.1%} of the volume shown, {len(open_parts)} open")
    still_open = [part for *_, part in open_parts if not (goal.is_stated and goal.reached(part.output, part.decisions))]
    parts = [*done, *(part for *_, part in open_parts)]
    shown = sum(part.volume for part in parts) - sum(part.volume for part in still_open)
    finished = not still_open or not goal.is_stated
    return _joined(whole, parts, number, shown, finished, stuck)


def _part(analyser: Analyser, box: Box, volume: float, goal: Goal) -> Part:
    run = analyser.run(box)
    name = analyser.model.graph.outputs[0].name
    output = tightened(run, name)
    decisions = tuple(decide(output, goal.differences, argmax=goal.argmax))
    return Part(box, volume, output, decisions, _sensitivity(run, output))


def _sensitivity(run: Run, output: Value) -> Mapping[str, Array]:
    """How much each input element moves the output element with the largest error, by the maps of the transfers."""
    if output.unbounded or output.transfer is None:
        return {}
    worst = int(np.argmax(output.error + 1e-30 * (output.high - output.low)))
    with np.errstate(all="ignore"):
        return adjoint.sensitivity(output, adjoint.one_hot(output.low.shape, np.array([worst])))


def _rank(part: Part, goal: Goal) -> float:
    """The order in which parts are halved: the largest error, or the decision furthest from the goal, first."""
    if part.output.unbounded:
        return -np.inf
    if goal.is_stated and goal.error is None:
        return -part.volume
    return -float(part.output.error.max(initial=0.0))


def _halves(part: Part) -> tuple[Box, Box] | None:
    """The two halves along the element that matters most, None where no interval can be halved."""
    best: tuple[float, str, int] | None = None
    for name, interval in part.box.items():
        width = (interval.high - interval.low).reshape(-1)
        weight = part.sensitivity.get(name)
        score = width * (weight.reshape(-1) + 1e-12) if weight is not None else width
        place = int(np.argmax(score)) if len(score) else -1
        if place >= 0 and width[place] > 0 and (best is None or score[place] > best[0]):
            best = float(score[place]), name, place
    if best is None:
        return None
    _, name, place = best
    interval = part.box[name]
    low, high = (np.array(each) for each in (interval.low, interval.high))
    middle = 0.5 * low.reshape(-1)[place] + 0.5 * high.reshape(-1)[place]
    if not low.reshape(-1)[place] < middle < high.reshape(-1)[place]:
        return None
    below, above = np.array(high), np.array(low)
    below.reshape(-1)[place] = above.reshape(-1)[place] = middle
    return {**part.box, name: Interval(low, below)}, {**part.box, name: Interval(above, high)}


def _joined(whole: Bounds, parts: Sequence[Part], number: int, shown: float, finished: bool, stuck: bool) -> Bounds:
    outputs = [part.output for part in parts]
    name = outputs[0].name
    tensors = []
    for tensor in whole.tensors:
        if tensor.name == name and not any(each.unbounded for each in outputs):
            low = np.minimum.reduce([each.low for each in outputs])
            high = np.maximum.reduce([each.high for each in outputs])
            error = np.maximum.reduce([each.error for each in outputs])
            introduced = np.maximum.reduce([each.introduced for each in outputs])
            tensors.append(replace(tensor, low=low, high=high, error=error, introduced=introduced, unbounded=""))
        else:
            tensors.append(tensor)
    decisions = [
        _together([part.decisions[index] for part in parts], shown) for index in range(len(parts[0].decisions))
    ]
    text = f"{number} boxes; shown on {shown:.2%} of the volume"
    if stuck:
        text += "; a part cannot be halved any more"
    split: dict[str, Any] = {"boxes": number, "volume": shown, "finished": finished, "text": text}
    return replace(whole, tensors=tuple(tensors), decisions=tuple(decisions), split=split)


def _together(found: Sequence[Decision], shown: float) -> Decision:
    what = found[0].what if all(each.what == found[0].what for each in found) else "argmax, by part"
    return Decision(
        what, min(each.low for each in found), max(each.high for each in found), max(each.error for each in found),
        all(each.same for each in found),
    )  # fmt: skip
