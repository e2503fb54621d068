"""Bisection of a box: smaller boxes have smaller errors and decisions that the whole box does not show.

The box with the largest error, or with an open decision, is halved along the input element that moves the output most.
What is shown for all parts holds for the whole box: the range is the hull of theirs, the error the largest one.
"""

from __future__ import annotations

import heapq
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from sonnx.base.errors import Stop
from sonnx.bounds import adjoint, parts_file
from sonnx.bounds.analysis import Analyser, Run, decide, tensor_of, tightened
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import Bounds, Decision, Tensor
from sonnx.model.ir import Model
from sonnx.model.limits import Limits
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
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

    def reached(self, output: Tensor, decisions: Sequence[Decision]) -> bool:
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
    output: Tensor
    decisions: tuple[Decision, ...]
    sensitivity: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Work:
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

    def part(self, box: Box, volume: float) -> Part:
        """What is known of a part."""
        run = self.analyser.run(box)
        output = tightened(run, self.model.graph.outputs[0].name)
        decisions = tuple(decide(output, self.goal.differences, argmax=self.goal.argmax, rounds=PART_ROUNDS))
        return Part(box, volume, tensor_of(output, True), decisions, _sensitivity(run, output))

    def halves(self, part: Part) -> list[Part]:
        """The halves of a part, none where no interval can be halved."""
        return [self.part(half, part.volume / 2) for half in halves(part.box, part.sensitivity) or ()]


Pool = tuple[Executor, int, Callable[[], str]]
"""What halves parts elsewhere, how many at a time, and why no more answers can come ("" if they can)."""

_works: dict[str, Work] = {}
"""The works of this process, with their models and analysers, by their keys."""


def _halves_of(key: str, work: Work, part: Part) -> list[Part]:
    return _works.setdefault(key, work).halves(part)


@contextmanager
def processes(jobs: int) -> Iterator[Pool]:
    """Processes of this machine.

    Raises:
        Stop: one of them ended.
    """
    with ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield pool, 2 * jobs, lambda: ""
        except BrokenExecutor:
            raise Stop("a process that halved the box ended; less memory is needed with fewer --jobs") from None
        finally:
            pool.shutdown(cancel_futures=True)


class Bisection:
    """The parts of a box: those that show the goal, and the open ones in the order in which they are halved."""

    def __init__(self, goal: Goal, parts: Iterable[Part]) -> None:
        self.goal, self.order = goal, count()
        self.done: list[Part] = []
        self.stuck: list[Part] = []
        self.open: list[tuple[float, int, Part]] = []
        for part in parts:
            self.add(part)

    @property
    def parts(self) -> list[Part]:
        """All parts."""
        return [*self.done, *self.stuck, *(part for *_, part in self.open)]

    def add(self, part: Part) -> None:
        """Sort a part in."""
        if self.goal.is_stated and self.goal.reached(part.output, part.decisions):
            self.done.append(part)
        else:
            heapq.heappush(self.open, (_rank(part, self.goal), next(self.order), part))

    def next(self) -> Part | None:
        """The part to halve next, taken out."""
        return heapq.heappop(self.open)[2] if self.open else None

    def halved(self, part: Part, halves: Sequence[Part]) -> None:
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
    work: Work,
    box: Box,
    whole: Bounds,
    seconds: float,
    progress: Progress | None = None,
    *,
    pool: AbstractContextManager[Pool] | None = None,
    kept: Path | None = None,
) -> Bounds:
    """The bounds of a model with those of its first output by parts of the box.

    Args:
        work: the model, the hypotheses, and what is to be shown.
        box: the whole box.
        whole: its bounds without bisection.
        seconds: after which no part is halved any more.
        progress: told how far it is.
        pool: where parts are halved, this process if None.
        kept: a file that keeps the parts; where it exists the bisection goes on from them.

    Raises:
        BadInput: the file is of another bisection.
        Stop: the pool is lost.
    """
    key = parts_file.key_of(work, box)
    found = parts_file.read(kept, key) if kept is not None and kept.exists() else [work.part(box, 1.0)]
    bisection = Bisection(work.goal, found)
    end = monotonic() + seconds
    try:
        if pool is not None:
            with pool as hands:
                _elsewhere(hands, partial(_halves_of, key, replace(work)), bisection, end, progress)
        else:
            _in_this_process(work, bisection, end, progress)
    finally:
        if kept is not None:
            parts_file.write(kept, key, bisection.parts)
    return _joined(whole, bisection)


def _in_this_process(work: Work, bisection: Bisection, end: float, progress: Progress | None) -> None:
    number = 0
    while monotonic() < end and (part := bisection.next()) is not None:
        bisection.halved(part, work.halves(part))
        number += 1
        if progress is not None and number % 16 == 0:
            progress(bisection.told())


def _elsewhere(
    pool: Pool, halve: Callable[[Part], list[Part]], bisection: Bisection, end: float, progress: Progress | None
) -> None:
    """Parts that are being halved at the end, or at an error, stay open."""
    (executor, width, lost), running = pool, dict[Future[list[Part]], Part]()
    try:
        while True:
            while len(running) < width and monotonic() < end and (part := bisection.next()) is not None:
                running[executor.submit(halve, part)] = part
            if not running:
                return
            ready, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            if why := lost():
                raise Stop(f"{why}; --resume keeps the parts")
            for each in ready:
                halves = each.result()
                bisection.halved(running.pop(each), halves)
            if progress is not None:
                progress(bisection.told())
    finally:
        for each, part in running.items():
            each.cancel()
            bisection.add(part)


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
    low, high = (np.array(each) for each in (interval.low, interval.high))
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
        if tensor.name == name and not any(each.unbounded for each in outputs):
            low = np.minimum.reduce([each.low for each in outputs])
            high = np.maximum.reduce([each.high for each in outputs])
            error = np.maximum.reduce([each.error for each in outputs])
            introduced = np.maximum.reduce([each.introduced for each in outputs])
            tensors.append(replace(tensor, low=low, high=high, error=error, introduced=introduced, unbounded=""))
        else:
            tensors.append(tensor)
    decisions = [_together([part.decisions[index] for part in parts]) for index in range(len(parts[0].decisions))]
    text = f"{len(parts)} boxes; shown on {shown:.2%} of the volume"
    if bisection.stuck:
        text += "; a part cannot be halved any more"
    finished = not waiting or not goal.is_stated
    split: dict[str, Any] = {"boxes": len(parts), "volume": shown, "finished": finished, "text": text}
    return replace(whole, tensors=tuple(tensors), decisions=tuple(decisions), split=split)


def _together(found: Sequence[Decision]) -> Decision:
    what = found[0].what if all(each.what == found[0].what for each in found) else "argmax, by part"
    return Decision(
        what, min(each.low for each in found), max(each.high for each in found), max(each.error for each in found),
        all(each.same for each in found),
    )  # fmt: skip
