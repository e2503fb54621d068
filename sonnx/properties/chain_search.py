"""Decide a property of a chain of affine layers and Relu: batches of parts, and a tree of them for a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import nextafter, prod
from typing import Any, NamedTuple

import numpy as np

from sonnx.bounds.box import Box, Interval
from sonnx.numerics.formats import Array
from sonnx.properties.chains import Chain, Rows
from sonnx.properties.search import Decision, Sets, Witness
from sonnx.supervise.search import Frontier, PartState, SearchLimit, search

BATCH = 64
"""Parts that are bounded at once, where memory allows it."""
TRIED_POINTS = 200
"""Points that look as if they violate the property, and are bounded."""
USEFUL_CUT = 0.9
"""The share of a part along an input that may be left for a cut to be made."""
CERTIFIED = 2.0**-16
"""The share of what the lines take that a margin must exceed: the checker's lines are coarser, by less than this."""

Tree = dict[str, Any]
"""A part of a certificate: its halves, or the slopes of its layers.

Where slabs were cut off, the part has its slopes as `lines`, and each slab the slopes "above".
"""


FINAL = 2
"""The stage of a part of which only the error leaves something open, and halving does not help."""


class ChainPart(NamedTuple):
    """A part that is not shown.

    Attributes:
        stage: 1 where only the error leaves it open: such parts come last, for often nothing helps them; `FINAL` where
            nothing does.
        less: the share of the volume that it has, negative.
        tree: its place in the certificate.
        is_divisible: whether a number lies between the ends of an interval.
    """

    stage: int
    less: float
    low: Array
    high: Array
    tree: Tree
    is_divisible: bool = True

    @property
    def rank(self) -> tuple[int, float]:
        """The least is bounded first."""
        return self.stage, self.less


class ChainTask(NamedTuple):
    """A task about a chain of layers, and how an input that seems to violate the property is confirmed."""

    chain: Chain
    shapes: Mapping[str, tuple[int, ...]]
    """Of the inputs, in the order of the model."""
    low: Array
    high: Array
    sets: Sets
    confirmed: Callable[[Array], Witness | None]
    """Of the elements of all inputs."""

    @property
    def atoms(self) -> Array:
        """The rows of the atoms, of shape (atoms, outputs)."""
        return self.sets.rows.reshape(len(self.sets.rows), -1)


def open_parts(tree: Tree, low: Array, high: Array) -> list[ChainPart]:
    """The leaves of a tree that are not shown, with their shares of the volume."""
    parts, pending = list[ChainPart](), [(tree, low, high, -1.0)]
    while pending:
        node, low, high, less = pending.pop()
        if "axis" in node:
            axis, at = node["axis"], float(node["at"])
            share = float((at - low[axis]) / (high[axis] - low[axis]))
            inner, outer = high.copy(), low.copy()
            inner[axis] = outer[axis] = at
            pending.append((node["above"], outer, high, less * (1 - share)))
            pending.append((node["below"], low, inner, less * share))
        elif "slopes" not in node:
            parts.append(ChainPart(int(node.get("open", 0)), less, low, high, node))
    return parts


def decide_chain(
    task: ChainTask, limit: SearchLimit, parts: Sequence[ChainPart], progress: Callable[[str], None] | None = None
) -> Decision:
    """Decide a task on parts of its box, and complete their trees.

    Args:
        task: what is decided.
        limit: after which no part is bounded.
        parts: what is open; each leaf of their trees gets its slopes where the property is shown, or `open`, its stage.
        progress: called with the share of the box that is decided.
    """
    for part in parts:
        part.tree.clear()
    problem = _ChainProblem(task)
    decision = problem.decision
    decision.shown = 1.0 + sum(part.less for part in parts)
    frontier = Frontier(problem, parts)
    search(
        frontier, limit, at_least=BATCH, every=BATCH,
        progress=lambda: None if progress is None else progress(
            f"{decision.parts} parts, {decision.shown:.1%} of the volume shown, {len(frontier.open)} open"
        ),
    )  # fmt: skip
    conclude(decision, [*frontier.stuck, *frontier.open], task)
    decision.waiting = len(frontier.open)
    return decision


class _ChainProblem:
    """A task as what `sonnx.supervise.search` searches: it bounds parts in batches, and then halves those not shown."""

    def __init__(self, task: ChainTask) -> None:
        self.task, self.decision, self.tries = task, Decision(), TRIED_POINTS

    def state(self, part: ChainPart) -> PartState:
        return PartState.OPEN if part.stage != FINAL and part.is_divisible else PartState.STUCK

    def rank(self, part: ChainPart) -> tuple[int, float]:
        return part.rank

    def divide(self, parts: Iterable[ChainPart]) -> Iterator[tuple[ChainPart, Sequence[ChainPart]]]:
        """Bound parts; a violating input ends the search."""
        coming = iter(parts)
        while batch := list(islice(coming, min(BATCH, self.task.chain.boxes_at_once))):
            yield from self._divided(batch)
            if self.decision.witness is not None:
                return

    def _divided(self, batch: Sequence[ChainPart]) -> Iterator[tuple[ChainPart, Sequence[ChainPart]]]:
        chain, sets, atoms, decision = self.task.chain, self.task.sets, self.task.atoms, self.decision
        low, high = np.array([part.low for part in batch]), np.array([part.high for part in batch])
        rows = chain.rows(low, high, atoms)
        ideal, every = margins_of(rows, sets)
        points = _points(rows, low, high, ideal, sets)
        outputs = chain.outputs_at(points) @ atoms.T
        decision.parts += len(batch)
        for place, part in enumerate(batch):
            if sets.excluded(every[place]):
                decision.shown -= part.less
                decision.margin = min(decision.margin, sets.least(every[place]))
                part.tree["slopes"] = slope_digits(chain, rows.slopes, place)
                yield part, []
                continue
            if self.tries and decision.witness is None and sets.occurs(outputs[place] - sets.low) is not None:
                self.tries -= 1
                decision.witness = self.task.confirmed(points[place])
            stage = int(sets.excluded(ideal[place]))
            digits = slope_digits(chain, rows.slopes, place)
            rest = _cut(part._replace(stage=stage), rows, place, every[place], sets, digits)
            decision.shown += rest.less - part.less
            if stage and not _holds_at_centre(chain, rest, sets, atoms):
                yield part, [rest._replace(stage=FINAL)]
            else:
                halves = _halves(rest, rows.changes[place, sets.nearest(ideal[place])])
                yield part, halves or [rest._replace(is_divisible=False)]


def conclude(decision: Decision, rest: Sequence[ChainPart], task: ChainTask) -> None:
    """Complete what is known of a task by the parts that are left."""
    for part in rest:
        part.tree["open"] = part.stage
    decision.left, decision.open = len(rest), sum(not part.stage for part in rest)
    decision.ideal = -sum(part.less for part in rest if part.stage)
    decision.place = next((_box(part, task) for part in rest if part.stage), None)
    # The volumes are rounded: a part may be too small to count in their sum.
    decision.shown = min(max(0.0, 1.0 + sum(part.less for part in rest)), nextafter(1.0, 0.0)) if rest else 1.0


def _box(part: ChainPart, task: ChainTask) -> Box:
    low, high = (input_arrays(ends, task.shapes) for ends in (part.low, part.high))
    return {name: Interval(low[name], high[name]) for name in low}


def input_arrays(elements: Array, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The arrays of inputs whose elements follow each other."""
    ends = np.cumsum([prod(shape) for shape in shapes.values()])[:-1]
    parts = np.split(elements, ends)
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def slope_digits(chain: Chain, slopes: Sequence[Array], place: int) -> list[str]:
    """The slopes below the Relus of each layer on a part, as a certificate has them."""
    return [
        "".join(_digit(each) for each in layer[place][known.relu])
        for layer, known in zip(slopes, chain.layers, strict=False)  # the last layer has no Relu
    ]  # fmt: skip


def _digit(slope: float) -> str:
    """A slope in eighths."""
    return str(int(8 * slope))


def margins_of(rows: Rows, sets: Sets) -> tuple[Array, Array]:
    """For each part and atom the least value above its bound, ideal and in any implementation."""
    steps = 2.0**-40  # also more than what the checker's box is wider
    spare = rows.least - np.abs(rows.least) * steps - CERTIFIED * rows.lines
    if sets.off.any():
        spare = spare - rows.sizes @ sets.off.T * (1 + 1e-9)
    ideal = spare - sets.high
    every = spare - rows.error - sets.high
    return ideal - np.abs(ideal) * steps, every - np.abs(every) * steps - (np.abs(sets.high) + rows.error) * steps


def _points(rows: Rows, low: Array, high: Array, ideal: Array, sets: Sets) -> Array:
    """For each part the corner that the nearest row's slopes point to."""
    nearest = [sets.nearest(margins) for margins in ideal]
    slopes = rows.influence[np.arange(len(low)), nearest]
    return np.where(slopes > 0, low, np.where(slopes < 0, high, 0.5 * low + 0.5 * high))


def _holds_at_centre(chain: Chain, part: ChainPart, sets: Sets, atoms: Array) -> bool:
    """Whether halving may help: at the centre the error leaves nothing open."""
    centre = (0.5 * part.low + 0.5 * part.high)[None]
    return sets.excluded(margins_of(chain.rows(centre, centre, atoms), sets)[1][0])


def _cut(
    part: ChainPart, rows: Rows, place: int, every: Array, sets: Sets, digits: list[str]
) -> ChainPart:  # fmt: skip
    """What is left of a part without the slabs at its ends on which its rows exclude all sets.

    A row is at least `every + sum of influence * distance from the corner where it is least`; so along one input it is
    positive from some distance on.  In a slab each set has an atom that excludes it.
    """
    influence, low, high = rows.influence[place], part.low.copy(), part.high.copy()
    width = high - low
    changes = np.abs(influence) * width
    with np.errstate(all="ignore"):
        needed = np.maximum(-every, 0.0) * (1 + CERTIFIED) + CERTIFIED * rows.lines[place]
        share = needed[:, None] / changes + CERTIFIED
    share = np.where((changes > 0) & np.isfinite(share), np.minimum(share, 1.0), 1.0)
    upward = np.where(influence > 0, share, 1.0)  # unsafe up to this share of the width from below
    downward = np.where(influence < 0, share, 1.0)
    from_low, from_high = (
        np.max([np.min(array[some], axis=0) for some in sets.sets], axis=0) for array in (upward, downward)
    )
    tree, less = part.tree, part.less
    for axis in np.flatnonzero(np.minimum(from_low, from_high) < USEFUL_CUT):
        cuts = (
            (from_low[axis], part.low[axis] + from_low[axis] * width[axis], high, ("below", "above")),
            (from_high[axis], part.high[axis] - from_high[axis] * width[axis], low, ("above", "below")),
        )
        for kept, at, end, (inside, outside) in cuts:
            if kept < USEFUL_CUT and low[axis] < at < high[axis]:
                tree.update({"axis": int(axis), "at": repr(float(at)), inside: {}, outside: {"slopes": "above"}})
                if tree is part.tree:
                    tree["lines"] = digits
                before = high[axis] - low[axis]
                end[axis], tree = at, tree[inside]
                less *= float((high[axis] - low[axis]) / before)
    return part._replace(low=low, high=high, less=less, tree=tree)


def _halves(part: ChainPart, influence: Array) -> list[ChainPart]:
    """The halves of a part along the input that moves the row most; none if no number lies between its ends."""
    width = part.high - part.low
    moved = influence * width
    axis = int(np.argmax(moved if moved.max() > 0 else width))
    at = float(0.5 * part.low[axis] + 0.5 * part.high[axis])
    if not part.low[axis] < at < part.high[axis]:
        return []
    part.tree.update(axis=axis, at=repr(at), below={}, above={})
    ends = part.low.copy(), part.high.copy()
    ends[0][axis] = ends[1][axis] = at
    return [
        ChainPart(part.stage, part.less / 2, part.low, ends[1], part.tree["below"]),
        ChainPart(part.stage, part.less / 2, ends[0], part.high, part.tree["above"]),
    ]
