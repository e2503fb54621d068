"""Bisection of a box: smaller boxes have smaller errors and decisions that the whole box does not show.

The box with the largest error, or with an open decision, is halved along the input element that moves the output most.
What is shown for all parts holds for the whole box: the range is the hull of theirs, the error the largest one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import whole_bytes
from sonnx.bounds import adjoint
from sonnx.bounds.analysis import Analyser, Run, decision_bounds, tensor_of, tightened
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import Bounds, DecisionBounds, SplitResult, TensorBounds
from sonnx.bounds.sub_boxes import SubBox, decoded_part, encoded_part, is_whole
from sonnx.model.ir import Model
from sonnx.model.limits import Limits
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import Array
from sonnx.supervise.identity import tool_identity
from sonnx.supervise.journal import Journal
from sonnx.supervise.search import Frontier, PartState, SearchLimit, search

JOURNAL = "bound --split"
"""The kind of the files that keep parts."""

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
        """Whether the goal holds on this part."""
        if output.unbounded:
            return False
        small = self.error is None or float(output.error.max(initial=0.0)) <= self.error
        return small and all(decision.same for decision in decisions)

    @property
    def is_stated(self) -> bool:
        """Whether there is something to show; without it the largest error is reduced while there is time."""
        return self.error is not None or bool(self.differences) or self.argmax


@dataclass(frozen=True, eq=False)
class BisectionProblem:
    """A model under hypotheses, and what is to be shown of it: all that the analysis of a part needs."""

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

    def identity(self, box: Box) -> dict[str, str]:
        """What the parts of a box depend on, as names with a hash or version each."""
        source = self.source if isinstance(self.source, bytes) else whole_bytes(Path(self.source))
        model = hashlib.sha256(source)
        for tensor in self.model.graph.initializers:
            if tensor.external is not None:
                model.update(decode(tensor, self.folder).tobytes())
        ranges = hashlib.sha256()
        for name, interval in sorted(box.items()):
            ranges.update(name.encode("utf-8", "surrogatepass") + interval.low.tobytes() + interval.high.tobytes())
        return {
            "model": model.hexdigest(), "box": ranges.hexdigest(), "set of hypotheses": _hash(self.hypotheses),
            "goal": _hash(self.goal), "set of options": _hash((self.sizes, self.edition)), **tool_identity(("numpy",)),
        }  # fmt: skip

    def part(self, box: Box, volume: float, path: str = "") -> SubBox:
        """What is known of a part."""
        run = self.analyser.run(box)
        output = tightened(run, self.model.graph.outputs[0].name)
        decisions = tuple(decision_bounds(output, self.goal.differences, argmax=self.goal.argmax, rounds=PART_ROUNDS))
        return SubBox(box, volume, tensor_of(output, True), decisions, _sensitivity(run, output), path)

    def halves(self, part: SubBox) -> list[SubBox]:
        """The halves of a part, none where no interval can be halved."""
        both = halves(part.box, part.sensitivity) or ()
        return [self.part(half, part.volume / 2, f"{part.path}{side}") for side, half in enumerate(both)]

    def state(self, part: SubBox) -> PartState:
        """A part is decided where the goal is stated and holds."""
        reached = self.goal.is_stated and self.goal.reached(part.output, part.decisions)
        return PartState.DECIDED if reached else PartState.OPEN

    def rank(self, part: SubBox) -> float:
        """A part without bounds first, then the largest error; the largest part where only decisions are asked for."""
        if part.output.unbounded:
            return -np.inf
        if self.goal.is_stated and self.goal.error is None:
            return -part.volume
        return -float(part.output.error.max(initial=0.0))

    def divide(self, parts: Iterable[SubBox]) -> Iterator[tuple[SubBox, list[SubBox] | None]]:
        """See `sonnx.supervise.search.Problem`."""
        for part in parts:
            yield part, self.halves(part) or None


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


HalvesElsewhere = Callable[[BisectionProblem, Iterable[SubBox]], Iterator[tuple[SubBox, list[SubBox]]]]
"""Halves parts in other processes: each part with its halves, in the order of completion.  It takes parts as processes
become free; the parts may end and go on, because halves are parts too."""


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
        progress: called with the share of the box that is decided.
        elsewhere: halves parts; this process if None.
        kept: a file that keeps the parts; where it exists the bisection goes on from them.

    Raises:
        BadInput: the file is of another bisection, or damaged.
        Stop: the other processes are lost.
    """
    journal = None if kept is None else Journal(kept, JOURNAL, problem.identity(box))
    parts = [] if journal is None else _kept_parts(journal)
    if not parts:
        parts = [problem.part(box, 1.0)]
        if journal is not None:
            journal.update({parts[0].path: encoded_part(parts[0])})
    frontier = Frontier(problem, parts)

    def keep(part: SubBox, halves: Sequence[SubBox] | None) -> None:
        if journal is not None and halves is not None:
            journal.update({half.path: encoded_part(half) for half in halves}, [part.path])

    def divide(parts: Iterable[SubBox]) -> Iterator[tuple[SubBox, list[SubBox] | None]]:
        assert elsewhere is not None  # noqa: S101  (see below)
        for part, halves in elsewhere(problem, parts):
            yield part, halves or None

    search(
        frontier, SearchLimit.after(seconds), divide=None if elsewhere is None else divide, keep=keep,
        progress=lambda: None if progress is None else progress(progress_text(frontier)),
        every=16 if elsewhere is None else 1,
    )  # fmt: skip
    return joined(whole, frontier, problem.goal)


def _kept_parts(journal: Journal) -> list[SubBox]:
    """The parts of a file, none if it is new.

    Raises:
        BadInput: they are damaged, or together not the whole box.
    """
    try:
        parts = [decoded_part(data) for data in journal.values.values()]
    except ValueError:
        parts = []
    if not journal.is_new and not is_whole(parts):
        raise BadInput(f"{quote(str(journal.path))} is a damaged --resume journal; name another file")
    return parts


def progress_text(frontier: Frontier[SubBox]) -> str:
    """The share of the box that is decided."""
    shown = sum(part.volume for part in frontier.decided)
    return f"{len(frontier.parts)} boxes, {shown:.1%} of the volume shown, {len(frontier.open)} open"


def _sensitivity(run: Run, output: Value) -> Mapping[str, Array]:
    """How much each input element moves the output element with the largest error, by the maps of the transfers."""
    if output.unbounded or output.transfer is None:
        return {}
    worst = int(np.argmax(output.error + 1e-30 * (output.high - output.low)))
    with np.errstate(all="ignore"):
        return adjoint.sensitivity(output, adjoint.one_hot(output.low.shape, np.array([worst])))


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


def joined(whole: Bounds, frontier: Frontier[SubBox], goal: Goal) -> Bounds:
    """The bounds of the whole box with those of the first output that all parts show together."""
    parts = frontier.parts
    is_complete = not frontier.stuck and not frontier.open
    shown = sum(part.volume for part in frontier.decided)
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
    if frontier.stuck:
        text += "; a part cannot be halved any more"
    split = SplitResult(len(parts), shown, is_complete or not goal.is_stated, text)
    return replace(whole, tensors=tuple(tensors), decisions=tuple(decisions), split=split)


def _together(decisions: Sequence[DecisionBounds]) -> DecisionBounds:
    """What all parts show of one decision."""
    what = decisions[0].what if all(decision.what == decisions[0].what for decision in decisions) else "argmax, by part"
    return DecisionBounds(
        what, min(decision.low for decision in decisions), max(decision.high for decision in decisions),
        max(decision.error for decision in decisions), all(decision.same for decision in decisions),
    )  # fmt: skip
