"""Decide a property: parts of its boxes on which it holds in every implementation, or an input that violates it.

On a part of a box, an unsafe set is excluded if one of its atoms cannot hold: the least ideal value of its row, less
the error of any implementation, is above its bound.  Parts that do not show this are halved along the input element
that moves the nearest row most.  At points, found by steps against the slopes, all atoms of a set may hold for every
implementation: such an input violates the property.  Rows are bounded instead of outputs (`sonnx.bounds.adjoint`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nextafter, prod
from typing import NamedTuple

import numpy as np

from sonnx.bounds import adjoint, kinks
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.split import PART_ROUNDS, Element, element_to_halve, halves_along
from sonnx.numerics.enclosures.arithmetic import UNIT, grown, magnitude
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.properties.property import Task, float_above, float_below, rows_of
from sonnx.supervise.search import Frontier, PartState, SearchLimit, search

STEPS = 12
"""Points that are tried from the centre of a part."""
SEARCHED_PARTS = 64
"""Parts at whose centres a search for a violating input begins."""


class Margins(NamedTuple):
    """For each atom on a part: the least value of its row above its bound, ideal and with the error, and the most."""

    ideal: Array
    every: Array
    """The least value in any implementation, less the bound: above 0 the atom holds in none."""
    most: Array
    """The largest value in any implementation, less the bound: at most 0 the atom holds in all."""
    sensitivity: Callable[[int], Mapping[str, Array]]


class Sets:
    """The unsafe sets of a task as rows, each row once, with the places of the atoms of each set.

    Attributes:
        rows: float64, of shape (atoms, *shape).
        off: how far their coefficients are from the stated ones at most, of shape (atoms, elements).
        low, high: float64 that enclose the bounds of the atoms.
        sets: the atoms of each set, by number.
    """

    def __init__(self, task: Task, shape: Sequence[int]) -> None:
        atoms = list(dict.fromkeys(atom for clause in task.unsafe for atom in clause))
        values = rows_of(atoms, prod(shape))
        self.rows = values.rows.reshape(len(atoms), *shape)
        self.off = values.off
        self.low = np.array([float_below(bound) for bound in values.bounds])
        self.high = np.array([float_above(bound) for bound in values.bounds])
        places = {atom: place for place, atom in enumerate(atoms)}
        self.strict = np.array([atom.is_strict for atom in atoms], bool)
        self.sets = [np.array([places[atom] for atom in clause], np.int64) for clause in task.unsafe]

    def excluded(self, margins: Array) -> bool:
        """Whether each set has an atom with a positive margin."""
        return all(bool((margins[members] > 0).any()) for members in self.sets)

    def nearest(self, margins: Array) -> int:
        """The atom to push: the one with the largest margin in the set that is furthest from being excluded."""
        best = [
            (float(margins[members].max()), int(members[margins[members].argmax()]))
            for members in self.sets
            if len(members)
        ]
        return min(best)[1] if best else 0

    def least(self, margins: Array) -> float:
        """The margin of the set that is nearest to not being excluded."""
        return min((float(margins[members].max()) for members in self.sets if len(members)), default=np.inf)

    def occurs(self, most: Array) -> int | None:
        """The number of a set of which all atoms hold, None if there is none."""
        hold = np.where(self.strict, most < 0, most <= 0)
        return next((number for number, members in enumerate(self.sets) if bool(hold[members].all())), None)


@dataclass(frozen=True, eq=False)
class Witness:
    """An input for which an unsafe set occurs in every implementation: its arrays, and the number of the set."""

    point: Mapping[str, Array]
    unsafe: int


@dataclass
class Decision:
    """What is known of a task.

    Attributes:
        parts: how many parts were analysed.
        left: on how many it is not shown in every implementation.
        open: on how many it is not even shown for ideal values.
        waiting: on how many a longer search would go on.
        shown: the share of the volume on which the property holds in every implementation.
        ideal: the share on which it holds for the ideal values only.
        witness: an input that violates it.
        margin: the least margin with errors of the parts on which it holds.
        place: a part on which it is shown for ideal values only.
    """

    parts: int = 0
    left: int = 0
    open: int = 0
    waiting: int = 0
    shown: float = 0.0
    ideal: float = 0.0
    witness: Witness | None = None
    margin: float = np.inf
    place: Box | None = None


def decide_by_boxes(
    analyser: Analyser, output: str, elements: Mapping[str, str], task: Task, limit: SearchLimit,
    progress: Callable[[str], None] | None = None,
) -> Decision:  # fmt: skip
    """Decide a task.

    Args:
        analyser: of the model under the hypotheses.
        output: the name of the output.
        elements: the element type of each input.
        task: the box and the unsafe sets.
        limit: after which no part is analysed.
        progress: called with the share of the box that is decided.

    Raises:
        NotBounded: the model has a node without a transfer function.
    """
    value = analyser.run(task.box, around=True).values[output]
    problem = _BoxProblem(analyser, output, elements, Sets(task, value.shape))
    decision = problem.decision
    frontier = Frontier(problem, problem.undecided(task.box, 1.0, value))
    if decision.witness is None:
        search(
            frontier, limit, every=8,
            progress=lambda: None if progress is None else progress(
                f"{decision.parts} parts, {decision.shown:.1%} of the volume shown, {len(frontier.open)} open"
            ),
        )  # fmt: skip
    if decision.witness is not None:
        return decision
    rest = [*frontier.open, *frontier.stuck]
    decision.left = len(rest)
    decision.open = sum(not part.stage for part in rest)
    decision.ideal = sum(part.volume for part in rest if part.stage)
    decision.place = next((part.box for part in rest if part.stage), None)
    # The volumes are rounded: a part may be too small to count in their sum.
    decision.shown = min(decision.shown, nextafter(1.0, 0.0)) if rest else 1.0
    return decision


class _UndecidedPart(NamedTuple):
    """A part on which an unsafe set is not excluded.

    Attributes:
        stage: 1 where the error alone leaves it open: such parts are halved last, for often nothing helps them.
        element: along which it is halved; None where each interval is a point.
    """

    stage: int
    volume: float
    box: Box
    element: Element | None


class _BoxProblem:
    """A task as what `sonnx.supervise.search` searches: it halves parts, and collects what they show in `decision`."""

    def __init__(self, analyser: Analyser, output: str, elements: Mapping[str, str], sets: Sets) -> None:
        self.analyser, self.output, self.elements, self.sets = analyser, output, elements, sets
        self.decision = Decision()

    def state(self, part: _UndecidedPart) -> PartState:
        return PartState.STUCK if part.element is None else PartState.OPEN

    def rank(self, part: _UndecidedPart) -> tuple[int, float]:
        return part.stage, -part.volume

    def divide(
        self, parts: Iterable[_UndecidedPart]
    ) -> Iterator[tuple[_UndecidedPart, Sequence[_UndecidedPart] | None]]:
        """Halve parts; a violating input ends the search."""
        for part in parts:
            halves = None
            if part.element is not None and not (part.stage and self._error_decides(part.box)):
                halves = halves_along(part.box, part.element)
            if halves is None:
                yield part, None
                continue
            undecided: list[_UndecidedPart] = []
            for half in halves:
                value = self.analyser.run(half).values[self.output]
                undecided += self.undecided(half, part.volume / 2, value)
                if self.decision.witness is not None:
                    return
            yield part, undecided

    def undecided(self, box: Box, volume: float, value: Value) -> list[_UndecidedPart]:
        """Record what the analysis of a part shows; the part itself if it does not decide it."""
        decision, sets = self.decision, self.sets
        decision.parts += 1
        margins = _margins(value, sets)
        if margins is not None and sets.excluded(margins.every):
            decision.shown += volume
            decision.margin = min(decision.margin, sets.least(margins.every))
            return []
        slopes: Mapping[str, Array] = {}
        if margins is not None:
            slopes = margins.sensitivity(sets.nearest(margins.ideal))
            if decision.parts <= SEARCHED_PARTS:
                decision.witness = _violation(self.analyser, self.output, self.elements, sets, box)
                if decision.witness is not None:
                    return []
        stage = int(margins is not None and sets.excluded(margins.ideal))
        return [_UndecidedPart(stage, volume, box, element_to_halve(box, slopes))]

    def _error_decides(self, box: Box) -> bool:
        """Whether the error leaves the property open even at the centre of a part: halving does not help there."""
        point = _point(box, self.elements, dict.fromkeys(box, 0.5))
        if point is None:
            return True
        margins = _margins(self.analyser.run(_at(point)).values[self.output], self.sets)
        return margins is None or not self.sets.excluded(margins.every)


def _margins(value: Value, sets: Sets) -> Margins | None:
    """The margins of all atoms on a part, None where the output is not bounded."""
    if value.unbounded:
        return None
    rows = sets.rows
    flat = rows.reshape(len(rows), -1)
    ends = [array.reshape(-1).astype(np.float64) for array in (value.low, value.high)]
    slack = grown(np.abs(flat) @ magnitude(*ends) * 2 * UNIT * (flat.shape[1] + 4), flat.shape[1] + 4)
    low = np.maximum(flat, 0) @ ends[0] + np.minimum(flat, 0) @ ends[1] - slack
    high = np.maximum(flat, 0) @ ends[1] + np.minimum(flat, 0) @ ends[0] + slack
    stated_error = value.error.reshape(-1)
    error = grown(np.abs(flat) @ stated_error, flat.shape[1] + 2)
    if value.transfer is not None:
        with np.errstate(all="ignore"):
            nearer = kinks.ranges(value, rows, PART_ROUNDS)
            low, high = np.fmax(low, nearer[0]), np.fmin(high, nearer[1])
            error = np.fmin(error, adjoint.errors(value, rows))
    if sets.off.any():
        unstated = grown(sets.off @ magnitude(*ends), flat.shape[1] + 2)
        low, high = low - unstated, high + unstated
        error = error + grown(sets.off @ stated_error, flat.shape[1] + 2)
    steps = 2.0**-50

    def down(values: Array) -> Array:
        return values - np.abs(values) * steps

    ideal = down(low - sets.high)
    every = down(down(low - error) - sets.high)
    most = np.where(flat.any(axis=1), -down(-(-down(-(high + error)) - sets.low)), -sets.low)  # 0 <= b is exact

    def sensitivity(atom: int) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return adjoint.sensitivity(value, rows[atom : atom + 1])

    return Margins(ideal, every, most, sensitivity)


# ------------------------------------------------------------------ points


def _violation(analyser: Analyser, output: str, elements: Mapping[str, str], sets: Sets, box: Box) -> Witness | None:
    """An input of a part for which an unsafe set occurs in every implementation, found by steps against the slopes."""
    share, slopes = 0.5, dict[str, Array]()
    point = _point(box, elements, dict.fromkeys(box, 0.5))
    for _ in range(STEPS):
        if point is None:
            return None
        value = analyser.run(_at(point)).values[output]
        margins = _margins(value, sets)
        if margins is None:
            return None
        unsafe = sets.occurs(margins.most)
        if unsafe is not None:
            return Witness(point, unsafe)
        slopes = dict(margins.sensitivity(sets.nearest(margins.ideal)))
        moved = {
            name: np.clip(
                point[name].astype(np.float64)
                - share * (interval.high - interval.low) * np.sign(slopes.get(name, 0.0)),
                interval.low,
                interval.high,
            )
            for name, interval in box.items()
        }
        after = numbers_at(moved, box, elements)
        if after is None or all(np.array_equal(after[name], point[name]) for name in point):
            share *= 0.5
        if after is not None:
            point = after
        share *= 0.75
    return None


def occurring_set(analyser: Analyser, output: str, sets: Sets, point: Mapping[str, Array]) -> int | None:
    """The number of a set that occurs at a point in every implementation, None if there is none."""
    margins = _margins(analyser.run(_at(point)).values[output], sets)
    return None if margins is None else sets.occurs(margins.most)


def _point(box: Box, elements: Mapping[str, str], shares: Mapping[str, float]) -> dict[str, Array] | None:
    exact = {name: (1 - shares[name]) * interval.low + shares[name] * interval.high for name, interval in box.items()}
    return numbers_at(exact, box, elements)


def numbers_at(values: Mapping[str, Array], box: Box, elements: Mapping[str, str]) -> dict[str, Array] | None:
    """The numbers of the element types that are next to some values, None where one leaves the box."""
    numbers = {}
    for name, exact in values.items():
        kind = ELEMENTS[elements[name]]
        near = np.where(np.isfinite(exact), exact, 0.0)
        array = (np.rint(near) if kind.kind in "iub" else near).astype(kind)
        wide = np.clip(array.astype(np.float64), box[name].low, box[name].high)
        if not np.array_equal(wide.astype(kind).astype(np.float64), wide):
            return None
        numbers[name] = wide.astype(kind)
    return numbers


def _at(point: Mapping[str, Array]) -> Box:
    return {name: Interval(array.astype(np.float64), array.astype(np.float64)) for name, array in point.items()}


def parts_of(box: Box) -> Iterator[str]:
    """The intervals of a small box in words, the first ones of many."""
    for name, interval in box.items():
        low, high = interval.low.reshape(-1), interval.high.reshape(-1)
        yield from (f"{name}[{index}] in [{low[index]:.9g}, {high[index]:.9g}]" for index in range(min(4, len(low))))
