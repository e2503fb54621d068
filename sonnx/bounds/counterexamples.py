"""Parts of a box on which an assumption holds, and inputs for which it does not.

The box is split into parts.  Where the bounds on a part do not prove an assumption, the executor, which computes exact
values and rounds each operator once, runs the model at the ends and the middle of the part: an input that it refuses is
a counterexample.  What neither decides is undecided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonnx.base.errors import ErrorCondition, Stop
from sonnx.base.escaping import quote
from sonnx.bounds.box import Box
from sonnx.bounds.split import halves
from sonnx.numerics.formats import Array

MAX_PARTS, MAX_NUMBERS = 64, 2**26
"""Parts that are analysed at most, and elements of values in all of them."""
MAX_LISTED = 8

Assumption = tuple[str, str]
"""The place of a node as messages begin with it, and the slug of a rule."""


@dataclass(frozen=True, eq=False)
class Counterexample:
    """An input of the box that the executor refuses, and why."""

    input: Mapping[str, Array]
    why: str

    def __str__(self) -> str:
        return f"exact values for an input of the box, {_listed(self.input)}, break it: {self.why}"


@dataclass(frozen=True)
class Undecided:
    """The share of the box on which nothing is shown, and one part of it."""

    share: float
    part: str

    def __str__(self) -> str:
        return f"undecided on {self.share:.2%} of the box, as where {self.part}"


@dataclass
class Decided:
    """What the parts show of each assumption: it holds everywhere, it fails for an input, or it is undecided."""

    shown: set[Assumption] = field(default_factory=set)
    failing: dict[Assumption, Counterexample] = field(default_factory=dict)
    undecided: dict[Assumption, Undecided] = field(default_factory=dict)


def decide_on_parts(
    box: Box,
    types: Mapping[str, np.dtype[np.generic]],
    assumptions: Sequence[Assumption],
    shown_on: Callable[[Box], tuple[set[Assumption], int]],
    run: Callable[[Mapping[str, Array]], object],
) -> Decided:
    """Decide assumptions that the bounds on the whole box do not show.

    Args:
        box: the whole box.
        types: the element type of each input.
        assumptions: the ones to decide.
        shown_on: the assumptions that the bounds show on a part, and how many elements were bounded.
        run: the executor.
    """
    decided = Decided()
    undecided_parts: dict[Assumption, list[tuple[float, Box]]] = {assumption: [] for assumption in assumptions}
    queue, parts, numbers = deque([(1.0, box, tuple(assumptions))]), 0, 0
    while queue:
        volume, part, waiting = queue.popleft()
        for point in _points(part, types):
            try:
                run(point)
            except ErrorCondition as error:
                for assumption in waiting:
                    if assumption[1] == error.rule and str(error).startswith(assumption[0]):
                        why = str(error).removeprefix(f"{assumption[0]}: ").removesuffix(f" ({assumption[1]})")
                        decided.failing.setdefault(assumption, Counterexample(point, why))
            except Stop:
                pass  # another value that does not exist decides nothing
        waiting = tuple(assumption for assumption in waiting if assumption not in decided.failing)
        if parts and waiting and parts < MAX_PARTS and numbers < MAX_NUMBERS:
            shown, size = shown_on(part)
            numbers, waiting = numbers + size, tuple(assumption for assumption in waiting if assumption not in shown)
        parts += 1
        half_boxes = halves(part, {}) if waiting and parts < MAX_PARTS and numbers < MAX_NUMBERS else None
        for half in half_boxes or ():
            queue.append((volume / 2, half, waiting))
        if half_boxes is None:
            for assumption in waiting:
                undecided_parts[assumption].append((volume, part))
    for assumption, places in undecided_parts.items():
        if assumption in decided.failing:
            continue
        if not places:
            decided.shown.add(assumption)
            continue
        volume = sum(volume for volume, _ in places)
        decided.undecided[assumption] = Undecided(volume, _part(places[0][1], box))
    return decided


def _points(part: Box, types: Mapping[str, np.dtype[np.generic]]) -> Iterator[Mapping[str, Array]]:
    """The middle and the ends of a part, where they are numbers of the element types."""
    for share in (0.5, 0.0, 1.0):
        point = {}
        for name, interval in part.items():
            exact = (1 - share) * interval.low + share * interval.high
            array = (np.floor(exact) if types[name].kind in "iub" else exact).astype(types[name])
            wide = array.astype(np.float64)
            if not ((wide >= interval.low) & (wide <= interval.high)).all():
                break
            point[name] = array
        else:
            yield point


def _listed(point: Mapping[str, Array]) -> str:
    """The elements of an input, the first ones where they are many."""
    return ", ".join(
        f"{quote(name)} = [{', '.join(f'{x:.9g}' for x in array.reshape(-1)[:MAX_LISTED].astype(float))}"
        f"{', …' if array.size > MAX_LISTED else ''}]"
        for name, array in point.items()
    )


def _part(part: Box, box: Box) -> str:
    """A part by the intervals that are smaller than those of the box."""
    texts = []
    for name, interval in part.items():
        smaller = np.flatnonzero((interval.low != box[name].low) | (interval.high != box[name].high))
        low, high = interval.low.reshape(-1), interval.high.reshape(-1)
        texts += [f"element {i} of {quote(name)} is in [{low[i]:.9g}, {high[i]:.9g}]" for i in smaller]
    more = f", and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return (", ".join(texts[:MAX_LISTED]) + more) or "each input is"
