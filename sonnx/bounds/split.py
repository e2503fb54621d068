"""Bisection of a box: smaller boxes have smaller errors and decisions that the whole box does not show.

The box with the largest error, or with an open decision, is halved along the input element that moves the output most.
What is shown for all parts holds for the whole box: the range is the hull of theirs, the error the largest one.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from time import monotonic

import numpy as np
from msgspec.structs import replace

from sonnx.base.files import whole_bytes
from sonnx.base.resources import own_hash
from sonnx.bounds import adjoint, sub_boxes
from sonnx.bounds.analysis import Analyser, Run, decision_bounds, tensor_of, tightened
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import Bounds, DecisionBounds, SplitResult, TensorBounds
from sonnx.bounds.sub_boxes import SubBox
from sonnx.model.ir import Model
from sonnx.model.limits import Limits
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import Array

Progress = Callable[[str], None]

PART_ROUNDS = 1
"""Of `kinks.ranges` on a part, which has few kinks: slopes are chosen."""


@dataclass(frozen=True, eq=False)
class Goal:
    """What is to be shown of each part: an error of the output of at most this, and decisions that are the same."""

    error: float | None
    differences: Sequence[tuple[int, int]]
    argmax: bool

    def reached(self, output: TensorBounds, decisions: Sequence[DecisionBounds]) -> bool:
        """Whether a part shows it."""
        if output.unbounded:
            return False
        small = self.error is None or float(output.error.max(initial=0.0)) <= self.error
        return small and all(decision.same for decision in decisions)

    @property
    def is_stated(self) -> bool:
        """Whether there is something to show; else the largest error is made smaller while there is time."""
        return self.error is not None or bool(self.differences) or self.argmax


@dataclass(frozen=True, eq=False)
class BisectionProblem:
    """What analyses parts: a model under hypotheses, and the goal; the same in every process."""

    source: str | bytes
    sizes: tuple[Mapping[str, int], Mapping[str, Sequence[int]]]
    hypotheses: Hypotheses
    edition: str | None
    goal: Goal
    limits: Limits

    @property
    def folder(self) -> Path | None:
        """Where the model file stands."""
        return None if isinstance(self.source, bytes) else Path(self.source).parent

    @cached_property
    def model(self) -> Model:
        """The model, read where it is first used."""
        return bind_symbols(read(self.source, limits=self.limits), *self.sizes)

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser, made where it is first used."""
        return Analyser(self.model, self.hypotheses, self.folder, self.edition, rounds=PART_ROUNDS)

    def key(self, box: Box) -> str:
        """What kept parts must agree with, as a hash: program, model with its constants, box, hypotheses, goal."""
        source = self.source if isinstance(self.source, bytes) else whole_bytes(Path(self.source))
        known = hashlib.sha256(
            source + repr((own_hash(), self.sizes, self.edition, self.hypotheses, self.goal)).encode()
        )
        for tensor in self.model.graph.initializers:
            if tensor.external is not None:
                known.update(decode(tensor, self.folder).tobytes())
        for name, interval in sorted(box.items()):
            known.update(name.encode() + interval.low.tobytes() + interval.high.tobytes())
        return known.hexdigest()

    def part(self, box: Box, volume: float) -> SubBox:
        """What is known of a part."""
        run = self.analyser.run(box)
        output = tightened(run, self.model.graph.outputs[0].name)
        decisions = tuple(decision_bounds(output, self.goal.differences, argmax=self.goal.argmax, rounds=PART_ROUNDS))
        return SubBox(box, volume, tensor_of(output, True), decisions, _sensitivity(run, output))

    def halves(self, part: SubBox) -> list[SubBox]:
        """The halves of a part, none where no interval can be halved."""
        return [self.part(half, part.volume / 2) for half in halves(part.box, part.sensitivity) or ()]


HalvesElsewhere = Callable[[BisectionProblem, Iterable[SubBox]], Iterator[tuple[SubBox, list[SubBox]]]]
"""Halves parts in other processes: each part with its halves, in the order of completion.  It takes parts as processes
become free; the parts may end and go on, because halves are parts too."""


class _Taken:
    """The parts to halve next, until a time; each is taken out, and kept here until its halves are known."""

    def __init__(self, bisection: Bisection, end: float) -> None:
        self.bisection, self.end = bisection, end
        self.running: list[SubBox] = []

    def __iter__(self) -> _Taken:
        return self

    def __next__(self) -> SubBox:
        part = self.bisection.next() if monotonic() < self.end else None
        if part is None:
            raise StopIteration
        self.running.append(part)
        return part


class Bisection:
    """The parts of a box: those that show the goal, and the open ones in the order in which they are halved."""

    def __init__(self, goal: Goal, parts: Iterable[SubBox]) -> None:
        self.goal, self.order = goal, count()
        self.done: list[SubBox] = []
        self.stuck: list[SubBox] = []
        self.open: list[tuple[float, int, SubBox]] = []
        for part in parts:
            self.add(part)

    @property
    def parts(self) -> list[SubBox]:
        """All parts."""
        return [*self.done, *self.stuck, *(part for *_, part in self.open)]

    def add(self, part: SubBox) -> None:
        """Sort a part in."""
        if self.goal.is_stated and self.goal.reached(part.output, part.decisions):
            self.done.append(part)
        else:
            heapq.heappush(self.open, (_rank(part, self.goal), next(self.order), part))

    def next(self) -> SubBox | None:
        """The part to halve next, taken out."""
        return heapq.heappop(self.open)[2] if self.open else None

    def halved(self, part: SubBox, halves: Sequence[SubBox]) -> None:
        """Sort in what became of a part."""
        if not halves:
            self.stuck.append(part)
        for half in halves:
            self.add(half)

    def told(self) -> str:
        """How far it is."""
        shown = sum(part.volume for part in self.done)
        return f"{len(self.parts)} boxes, {shown:.1%} of the volume shown, {len(self.open)} open"


def bisect(
    problem: BisectionProblem,
    box: Box,
    whole: Bounds,
    seconds: float,
    progress: Progress | None = None,
    *,
    elsewhere: HalvesElsewhere | None = None,
    kept: Path | None = None,
) -> Bounds:
    """The bounds of a model with those of its first output by parts of the box.

    Args:
        problem: the model, the hypotheses, and what is to be shown.
        box: the whole box.
        whole: its bounds without bisection.
        seconds: after which no part is halved any more.
        progress: told how far it is.
        elsewhere: halves parts; this process if None.
        kept: a file that keeps the parts; where it exists the bisection goes on from them.

    Raises:
        BadInput: the file is of another bisection.
        Stop: the other processes are lost.
    """
    key = "" if kept is None else problem.key(box)
    found = sub_boxes.read(kept, key) if kept is not None and kept.exists() else [problem.part(box, 1.0)]
    bisection = Bisection(problem.goal, found)
    end = monotonic() + seconds
    try:
        if elsewhere is not None:
            _elsewhere(problem, elsewhere, bisection, end, progress)
        else:
            _in_this_process(problem, bisection, end, progress)
    finally:
        if kept is not None:
            sub_boxes.write(kept, key, bisection.parts)
    return _joined(whole, bisection)


def _in_this_process(problem: BisectionProblem, bisection: Bisection, end: float, progress: Progress | None) -> None:
    number = 0
    while monotonic() < end and (part := bisection.next()) is not None:
        bisection.halved(part, problem.halves(part))
        number += 1
        if progress is not None and number % 16 == 0:
            progress(bisection.told())


def _elsewhere(
    problem: BisectionProblem, halves_elsewhere: HalvesElsewhere, bisection: Bisection, end: float,
    progress: Progress | None,
) -> None:  # fmt: skip
    """Parts that are being halved at an error stay open."""
    taken = _Taken(bisection, end)
    try:
        for part, halves in halves_elsewhere(problem, taken):
            taken.running.remove(part)
            bisection.halved(part, halves)
            if progress is not None:
                progress(bisection.told())
    finally:
        for part in taken.running:
            bisection.add(part)


def _sensitivity(run: Run, output: Value) -> Mapping[str, Array]:
    """How much each input element moves the output element with the largest error, by the maps of the transfers."""
    if output.unbounded or output.transfer is None:
        return {}
    worst = int(np.argmax(output.error + 1e-30 * (output.high - output.low)))
    with np.errstate(all="ignore"):
        return adjoint.sensitivity(output, adjoint.one_hot(output.low.shape, np.array([worst])))


def _rank(part: SubBox, goal: Goal) -> float:
    """The order in which parts are halved: the largest error, or the decision furthest from the goal, first."""
    if part.output.unbounded:
        return -np.inf
    if goal.is_stated and goal.error is None:
        return -part.volume
    return -float(part.output.error.max(initial=0.0))


Element = tuple[str, int]
"""An element of an input: the name of the input, and its flat number."""


def element_to_halve(box: Box, sensitivity: Mapping[str, Array]) -> Element | None:
    """The element that matters most: the widest one by its width and the slope, None where each is a point."""
    best: tuple[float, str, int] | None = None
    for name, interval in box.items():
        width = (interval.high - interval.low).reshape(-1)
        weight = sensitivity.get(name)
        score = width * (np.abs(weight.reshape(-1)) + 1e-12) if weight is not None else width
        place = int(np.argmax(score)) if len(score) else -1
        if place >= 0 and width[place] > 0 and (best is None or score[place] > best[0]):
            best = float(score[place]), name, place
    return None if best is None else best[1:]


def halves(box: Box, sensitivity: Mapping[str, Array]) -> tuple[Box, Box] | None:
    """The two halves along the element that matters most, None where no interval can be halved."""
    element = element_to_halve(box, sensitivity)
    return None if element is None else halves_along(box, element)


def halves_along(box: Box, element: Element) -> tuple[Box, Box] | None:
    """The two halves along an element, None where its interval has no number between its ends."""
    name, place = element
    interval = box[name]
    low, high = (np.array(array) for array in (interval.low, interval.high))
    middle = 0.5 * low.reshape(-1)[place] + 0.5 * high.reshape(-1)[place]
    if not low.reshape(-1)[place] < middle < high.reshape(-1)[place]:
        return None
    below, above = np.array(high), np.array(low)
    below.reshape(-1)[place] = above.reshape(-1)[place] = middle
    return {**box, name: Interval(low, below)}, {**box, name: Interval(above, high)}


def _joined(whole: Bounds, bisection: Bisection) -> Bounds:
    goal, parts = bisection.goal, bisection.parts
    waiting = [*bisection.stuck, *(part for *_, part in bisection.open)]
    shown = sum(part.volume for part in bisection.done)
    outputs = [part.output for part in parts]
    name = outputs[0].name
    tensors = []
    for tensor in whole.tensors:
        if tensor.name == name and not any(output.unbounded for output in outputs):
            low = np.minimum.reduce([output.low for output in outputs])
            high = np.maximum.reduce([output.high for output in outputs])
            error = np.maximum.reduce([output.error for output in outputs])
            introduced = np.maximum.reduce([output.introduced for output in outputs])
            tensors.append(replace(tensor, low=low, high=high, error=error, introduced=introduced, unbounded=""))
        else:
            tensors.append(tensor)
    decisions = [_together([part.decisions[index] for part in parts]) for index in range(len(parts[0].decisions))]
    text = f"{len(parts)} boxes; shown on {shown:.2%} of the volume"
    if bisection.stuck:
        text += "; a part cannot be halved any more"
    finished = not waiting or not goal.is_stated
    split = SplitResult(len(parts), shown, finished, text)
    return replace(whole, tensors=tuple(tensors), decisions=tuple(decisions), split=split)


def _together(found: Sequence[DecisionBounds]) -> DecisionBounds:
    what = found[0].what if all(bounds.what == found[0].what for bounds in found) else "argmax, by part"
    return DecisionBounds(
        what, min(bounds.low for bounds in found), max(bounds.high for bounds in found),
        max(bounds.error for bounds in found), all(bounds.same for bounds in found),
    )  # fmt: skip
