"""Decide a property of a chain of layers by the signs of its neurons: for boxes of many inputs.

The bounds of all neurons are those on the whole box.  A part is divided by the sign of a neuron z before its Relu: one
side has the inputs with z >= 0, the other those with z <= 0.  There Relu is a line, and row y >= row y - n s z for each
n >= 0 and the sign s of the side.  These multipliers are searched for by steps along the slopes of the bound; then they
are rounded to what a certificate has, and the bound is computed once more with the slack of every step: only that
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.properties.chain_search import BATCH, TRIED_POINTS, ChainTask, Tree, margins_of, slope_digits
from sonnx.properties.chains import BatchBounds, Rows, least_on_sides
from sonnx.properties.search import Decision
from sonnx.supervise.search import Frontier, PartState, SearchLimit, search

STEPS = 10
"""Steps of the search for multipliers."""
TRIES = 8
"""How often multipliers are searched for again at most, where no neuron is left to divide by."""
GRID = 256
"""Multipliers are multiples of its inverse."""

Side = tuple[int, int, int]
"""A layer, the number of a neuron, and the sign of z."""


class PhasePart(NamedTuple):
    """A part that is not shown.

    Attributes:
        sides: the signs of its neurons.
        tree: its place in the certificate.
        margin: the largest margin of a comparison on the part that it is a side of.
        start: multipliers to begin with, of shape (comparisons, sides).
        tries: how often multipliers were searched for again, as no neuron is left whose sign matters.
    """

    sides: tuple[Side, ...]
    tree: Tree
    margin: float
    start: Array
    tries: int = 0


def decide_by_phases(
    task: ChainTask, limit: SearchLimit, progress: Callable[[str], None] | None = None
) -> tuple[Decision, Tree | None]:
    """Decide a task; no tree where the limit is reached before.

    Args:
        task: what is decided.
        limit: after which no part is bounded.
        progress: called with how many parts are open.
    """
    problem = _PhaseProblem(task)
    tree: Tree = {"lines": slope_digits(task.chain, problem.root.slopes, 0)}
    frontier = Frontier(problem, [PhasePart((), tree, -np.inf, np.zeros((len(task.atoms), 0)))])
    decision = problem.decision
    search(
        frontier, limit, at_least=BATCH, every=BATCH,
        progress=lambda: None if progress is None else progress(
            f"{decision.parts} parts by signs of neurons, {len(frontier.open)} open"
        ),
    )  # fmt: skip
    if decision.witness is None and (frontier.open or frontier.stuck):
        return decision, None
    decision.shown = 1.0 if decision.witness is None else 0.0
    return decision, tree


class _PhaseProblem:
    """A task as what `sonnx.supervise.search` searches: it bounds parts in batches, and divides those not shown."""

    def __init__(self, task: ChainTask) -> None:
        self.task, self.decision, self.tries = task, Decision(), TRIED_POINTS
        chain = task.chain
        self.root = BatchBounds(chain, task.low[None], task.high[None])
        for number in range(len(chain.W) - 1):
            self.root.bound_layer(number)
        final = len(chain.W) - 1
        whole = self.root.roundings(final)
        self.sizes = self.root.sizes(final) * (1 + 2 * chain.gammas[final]) + np.where(np.isfinite(whole), whole, 0.0)
        self.error, _ = self.root.error(task.atoms[None])

    def state(self, part: PhasePart) -> PartState:
        return PartState.OPEN

    def rank(self, part: PhasePart) -> tuple[int, float]:
        """The deepest part first: fewer parts wait."""
        return -len(part.sides), part.margin

    def divide(self, parts: Iterable[PhasePart]) -> Iterator[tuple[PhasePart, Sequence[PhasePart] | None]]:
        """Bound parts; a violating input ends the search."""
        coming = iter(parts)
        while batch := list(islice(coming, BATCH)):
            yield from self._divided(batch)
            if self.decision.witness is not None:
                return

    def _divided(self, batch: Sequence[PhasePart]) -> Iterator[tuple[PhasePart, Sequence[PhasePart] | None]]:
        task, sets, decision = self.task, self.task.sets, self.decision
        sides = [np.zeros((len(batch), layer.shape[1])) for layer in self.root.slopes]
        for place, part in enumerate(batch):
            for layer, neuron, sign in part.sides:
                sides[layer][place, neuron] = sign
        multipliers = self._multipliers(sides, batch)
        bound = least_on_sides(self.root, task.atoms, sides, multipliers)
        shape = bound.least.shape
        rows = Rows(
            bound.least, np.broadcast_to(self.error, shape), bound.lines, bound.influence, bound.influence,
            self.root.slopes, np.broadcast_to(self.sizes, (len(batch), self.sizes.shape[1])),
        )  # fmt: skip
        ideal, every = margins_of(rows, sets)
        decision.parts += len(batch)
        outputs = task.chain.outputs_at(bound.points.reshape(-1, task.chain.inputs)) @ task.atoms.T
        outputs = outputs.reshape(*shape[:2], len(task.atoms))
        for place, part in enumerate(batch):
            if sets.excluded(every[place]):
                decision.margin = min(decision.margin, sets.least(every[place]))
                part.tree.update({"slopes": "above", "multipliers": self._stated(part, multipliers, place)})
                yield part, []
                continue
            nearest = sets.nearest(ideal[place])
            if self.tries and sets.occurs(outputs[place, nearest] - sets.low) is not None:
                self.tries -= 1
                decision.witness = task.confirmed(bound.points[place, nearest])
                if decision.witness is not None:
                    return
            columns = [multipliers[layer][place, :, neuron] for layer, neuron, _ in part.sides]
            known = part._replace(start=np.array(columns).reshape(len(columns), len(task.atoms)).T)
            yield part, self._sides_of(known, bound.costs, place, nearest, float(every[place].max()))

    def _sides_of(
        self, part: PhasePart, costs: Sequence[Array], place: int, nearest: int, margin: float
    ) -> list[PhasePart] | None:
        """The two sides of the neuron whose lines cost most; the part once more, where none costs anything."""
        best = max(((float(cost[place, nearest].max(initial=0.0)), layer) for layer, cost in enumerate(costs)))
        if not best[0] > 0:
            return [part._replace(tries=part.tries + 1)] if part.tries < TRIES else None
        layer = best[1]
        neuron = int(costs[layer][place, nearest].argmax())
        part.tree.update({"neuron": [layer, neuron], "above": {}, "below": {}})
        start = np.column_stack([part.start, np.zeros(len(part.start))])
        return [
            PhasePart((*part.sides, (layer, neuron, sign)), part.tree[name], margin, start)
            for name, sign in (("above", 1), ("below", -1))
        ]

    def _multipliers(self, sides: Sequence[Array], batch: Sequence[PhasePart]) -> list[Array]:
        """For each part, atom and neuron with a sign a multiplier, a multiple of 1 / GRID."""
        shape = len(batch), len(self.task.atoms)
        chosen = [np.zeros((*shape, side.shape[1])) for side in sides]
        for place, part in enumerate(batch):
            for number, (layer, neuron, _) in enumerate(part.sides):
                chosen[layer][place, :, neuron] = part.start[:, number]
        if not any(side.any() for side in sides):
            return chosen
        best, bound = chosen, np.full(shape, -np.inf)
        means = [np.zeros(each.shape) for each in chosen]
        squares = [np.zeros(each.shape) for each in chosen]
        for step in range(STEPS + 1):
            rounded = [np.floor(each * GRID) / GRID for each in chosen]
            found = least_on_sides(self.root, self.task.atoms, sides, rounded)
            better = found.least > bound
            best = [np.where(better[:, :, None], new, old) for new, old in zip(rounded, best, strict=True)]
            bound = np.maximum(bound, found.least)
            if step == STEPS:
                break
            slopes = found.slopes
            means = [0.8 * mean + 0.2 * slope for mean, slope in zip(means, slopes, strict=True)]
            squares = [0.95 * square + 0.05 * slope**2 for square, slope in zip(squares, slopes, strict=True)]
            chosen = [
                np.maximum(each + 0.85**step * scale * mean / (np.sqrt(square) + 1e-30), 0.0)
                for each, mean, square, scale in zip(chosen, means, squares, found.scales, strict=True)
            ]
        return best

    def _stated(self, part: PhasePart, multipliers: Sequence[Array], place: int) -> list[dict[str, int]]:
        """The multipliers of a part for each comparison, as a certificate has them."""
        return [
            {
                f"{layer},{neuron}": number
                for layer, neuron, _ in part.sides
                if (number := int(multipliers[layer][place, atom, neuron] * GRID))
            }
            for members in self.task.sets.sets for atom in members
        ]  # fmt: skip
