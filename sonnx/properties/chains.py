"""Bounds of rows over the outputs of chains of affine layers and Relu, for many boxes at once.

The relaxation is that of `certificate_checker`, which states it and checks it in exact integers; here it is computed in
float64 for a batch of boxes, and each result is moved outward by a bound of what float64 rounds:  a row R over a layer
is any row, and R W is replaced by what float64 makes of it, which differs from it by at most gamma |R| |W|.  On inputs
of at most `most` this changes the row's value by gamma |R| (|W| most).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sonnx.model.ir import Model
from sonnx.numerics.formats import Array
from sonnx.properties.chain_layers import ChainLayer, chain_layers

UNIT = 2.0**-52
"""Twice the relative error of a float64 operation."""
TINY = 1e-290
"""More than what underflows in a part."""

NEAR_TIE = 2.0**-20
"""The share of an interval within which an end counts as 0, as it may be 0 in the checker's exact integers."""
AT_ONCE = 2048
"""Neurons that are bounded at once."""
MOST_NUMBERS = 1 << 25
"""Numbers of the rows over a layer for a batch of boxes."""


class Rows(NamedTuple):
    """Rows over the outputs on a batch of boxes.

    Attributes:
        least: lower bounds of the ideal values of the rows, of shape (boxes, rows).
        error: of any implementation, of the same shape; infinite where a sum may overflow.
        lines: how much of `least` the lines above the Relus take, of the same shape.
        influence: the rows over the inputs that the bounds come from, of shape (boxes, rows, inputs).
        changes: about how much an input moves a row, of the same shape: between what the bounds come from and the
            steepest slope.
        slopes: for each layer the slopes below, 0 or 1, of shape (boxes, neurons).
        sizes: bounds of the absolute values of the outputs in any implementation, of shape (boxes, outputs).
    """

    least: Array
    error: Array
    lines: Array
    influence: Array
    changes: Array
    slopes: list[Array]
    sizes: Array


class Chain:
    """A model that is a chain of affine layers and Relu, as arrays.

    Raises:
        NotAChain: it is not such a chain.
    """

    def __init__(self, model: Model) -> None:
        self.layers: Sequence[ChainLayer] = chain_layers(model)
        self.W = [layer.W for layer in self.layers]
        self.b = [layer.bias for layer in self.layers]
        self.absolute = [layer.sizes for layer in self.layers]
        self.sizes = [layer.constant_sizes * (1 + 8 * UNIT) for layer in self.layers]
        self.gammas = [(sum(W.shape) + 16) * UNIT for W in self.W]
        widest = max(max(W.shape) for W in self.W)
        self.boxes_at_once = max(1, MOST_NUMBERS // (2 * min(AT_ONCE, widest) * widest))

    @property
    def inputs(self) -> int:
        """How many elements the input has."""
        return int(self.W[0].shape[1])

    @property
    def outputs_count(self) -> int:
        """How many elements the output has."""
        return len(self.b[-1])

    def outputs_at(self, points: Array) -> Array:
        """About the ideal outputs at points of shape (points, inputs), without any claim."""
        values = points
        for place, (W, b) in enumerate(zip(self.W, self.b, strict=True)):
            values = values @ W.T + b
            values = np.where(self.layers[place].relu, np.maximum(values, 0.0), values)
        return values

    def rows(self, low: Array, high: Array, rows: Array) -> Rows:
        """Bounds of rows over the outputs, of shape (rows, outputs), on boxes of shape (boxes, inputs)."""
        on = BatchBounds(self, low, high)
        for number in range(len(self.W) - 1):
            on.bound_layer(number)
        final = len(self.W) - 1
        whole = on.roundings(final)
        # Where an error is infinite no size is needed.
        sizes = on.sizes(final) * (1 + 2 * self.gammas[final]) + np.where(np.isfinite(whole), whole, 0.0)
        each_box = np.broadcast_to(rows, (len(low), *rows.shape))
        least, lines, influence = on.least(each_box, final)
        error, steepest = on.error(each_box)
        return Rows(least, error, lines, influence, np.sqrt(np.abs(influence) * steepest), on.slopes, sizes)


class BatchBounds:
    """What is known of a batch of boxes, layer after layer.

    Attributes:
        slopes, above, offset: the lines below and above each Relu, arrays of shape (boxes, neurons).
        passes, some: whether each Relu passes a difference on in every implementation, or in some.
        ends: the ranges of the values that enter the next layer.
        reach: bounds of the absolute values that enter a layer, ideal; error: of those, in any implementation.
        size: bounds of the absolute values of the sums of a layer.
    """

    def __init__(self, chain: Chain, low: Array, high: Array) -> None:
        self.chain, self.low, self.high = chain, low, high
        self.slopes: list[Array] = []
        self.above: list[Array] = []
        self.offset: list[Array] = []
        self.passes: list[Array] = []
        self.some: list[Array] = []
        self.ends = low, high
        self.reach = [np.maximum(np.abs(low), np.abs(high))]
        self.errors = [np.full(low.shape, TINY_INPUT)]
        self.local: list[Array] = []
        self.most: list[Array] = []
        """Bounds of |z| on each layer before its Relu."""

    def bound_layer(self, number: int) -> None:
        """The bounds, lines and errors of the neurons of a layer."""
        relu = self.chain.layers[number].relu
        whole = self.roundings(number)
        low, high = self._intervals(number)
        # As the checker takes them: by intervals alone where these decide the sign, or may decide it there.
        tie = NEAR_TIE * (high - low)
        unsure = (low < -tie) & (high > tie) & relu
        if number and unsure.any():
            near = self._nearer(number, np.flatnonzero(unsure.any(axis=0)))
            low, high = (
                np.where(unsure, pick(end, other), end)
                for end, other, pick in zip((low, high), near, (np.maximum, np.minimum), strict=True)
            )
        unsure = (low < 0) & (high > 0) & relu
        width = np.where(unsure, high - low, 1.0)
        on = ((low >= 0) | ~relu) * 1.0
        above = np.where(unsure, np.minimum(1.0, high / width * (1 + 4 * UNIT)), on)
        offset = np.maximum(-above * low, high - above * high) * (1 + 4 * UNIT) + TINY
        self.slopes.append(np.where(unsure, (high > -low) * 1.0, on))
        self.above.append(above)
        self.offset.append(np.where(unsure, offset, 0.0))
        self.passes.append((low - whole > 0) | ~relu)
        self.some.append((high + whole >= 0) | ~relu)
        self.most.append(np.maximum(np.abs(low), np.abs(high)))
        self.ends = np.where(relu, np.maximum(low, 0.0), low), np.where(relu, np.maximum(high, 0.0), high)
        self.reach.append(np.maximum(*map(np.abs, self.ends)))
        self.errors.append(np.where(self.some[-1], whole + TINY_INPUT, 0.0))

    def _nearer(self, number: int, neurons: Array) -> tuple[Array, Array]:
        """Ends of all neurons of a layer by rows of some neurons; infinite for the others."""
        boxes, n = len(self.low), len(self.chain.b[number])
        ends = [np.full((boxes, n), end) for end in (-np.inf, np.inf)]
        for first in range(0, len(neurons), AT_ONCE):
            some = neurons[first : first + AT_ONCE]
            unit = np.zeros((len(some), n))
            unit[np.arange(len(some)), some] = 1.0
            rows = np.concatenate([unit, -unit])
            both, _, _ = self.least(np.broadcast_to(rows, (boxes, *rows.shape)), number)
            ends[0][:, some], ends[1][:, some] = both[:, : len(some)], -both[:, len(some) :]
        return ends[0], ends[1]

    def _intervals(self, number: int) -> tuple[Array, Array]:
        """Ends of the neurons of a layer by those of its inputs."""
        W, b = self.chain.W[number], self.chain.b[number]
        positive, negative = np.maximum(W, 0.0).T, np.minimum(W, 0.0).T
        slack = 2 * self.chain.gammas[number] * (np.maximum(*map(np.abs, self.ends)) @ np.abs(W).T + np.abs(b)) + TINY
        least = self.ends[0] @ positive + self.ends[1] @ negative + b - slack
        most = self.ends[1] @ positive + self.ends[0] @ negative + b + slack
        return least, most

    def sizes(self, number: int) -> Array:
        """About the sums of the absolute values of the terms of the neurons of a layer, in any implementation."""
        reach = self.reach[number] + self.errors[number]
        return np.asarray(reach @ self.chain.absolute[number].T + self.chain.sizes[number])

    def roundings(self, number: int) -> Array:
        """The errors of the neurons of a layer before their Relu; what their own roundings add is kept."""
        chain, layer = self.chain, self.chain.layers[number]
        W = chain.absolute[number]
        before = self.errors[number]
        reach = self.reach[number] + before
        k = layer.terms + 6.0
        is_rounded = layer.terms > 0
        size = self.sizes(number)
        with np.errstate(over="ignore"):
            overflows = ((size >= 2.0**126) & is_rounded).any(axis=1, keepdims=True)
        most = reach.max(axis=1, keepdims=True) + layer.largest_inner + 2
        lost = 2.0 * (4 + layer.additions) * (layer.products + 2) * (3 + W.max(initial=0.0) + most) * 2.0**-126
        local = np.where(is_rounded, (size * (k / (2.0**24 - k)) + lost) * (1 + 2 * chain.gammas[number]), 0.0)
        self.local.append(np.where(overflows, np.inf, local))
        return np.asarray((before @ W.T + self.local[-1]) * (1 + 2 * chain.gammas[number]))

    def least(self, rows: Array, number: int) -> tuple[Array, Array, Array]:
        """Lower bounds of rows over the neurons of a layer, what the lines take of them, and rows over the inputs."""
        total, slack, lines = (np.zeros(rows.shape[:2]) for _ in range(3))
        R = rows
        for place in range(number, -1, -1):
            W, b = self.chain.W[place], self.chain.b[place]
            size = self.reach[place] @ np.abs(W).T + np.abs(b)
            slack += self.chain.gammas[place] * _times(np.abs(R), size)
            total += R @ b
            R = R @ W
            if place:
                below, above = self.slopes[place - 1][:, None], self.above[place - 1][:, None]
                offset = self.offset[place - 1]
                slack += 8 * UNIT * _times(np.abs(R), self.most[place - 1] + offset)
                negative = np.minimum(R, 0.0)
                taken = _times(negative, offset)
                total, lines = total + taken, lines - taken
                R = np.maximum(R, 0.0) * below + negative * above
            slack += 8 * UNIT * np.abs(total)
        slack += self.chain.gammas[0] * _times(np.abs(R), self.reach[0])
        total += _times(np.maximum(R, 0.0), self.low) + _times(np.minimum(R, 0.0), self.high)
        return total - 1.01 * slack - 8 * UNIT * np.abs(total) - TINY, lines, R

    @np.errstate(invalid="ignore")
    def error(self, rows: Array) -> tuple[Array, Array]:
        """The errors of rows over the outputs, and the largest absolute slope of each over each input."""
        low = high = rows
        total = np.zeros(rows.shape[:2])
        for place in range(len(self.chain.W) - 1, -1, -1):
            W = self.chain.W[place]
            total += _times(np.maximum(-low, high), self.local[place])
            positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
            slack = self.chain.gammas[place] * (np.maximum(-low, high) @ np.abs(W)) + TINY
            low, high = low @ positive + high @ negative - slack, high @ positive + low @ negative + slack
            if place:
                passes, some = self.passes[place - 1][:, None], self.some[place - 1][:, None]
                low = np.where(passes, low, np.where(some, np.minimum(low, 0.0), 0.0))
                high = np.where(passes, high, np.where(some, np.maximum(high, 0.0), 0.0))
            total += TINY_INPUT * np.maximum(-low, high).sum(axis=2)
        return np.where(np.isnan(total), np.inf, total * (1 + 1e-9)), np.maximum(-low, high)


class OnSides(NamedTuple):
    """Rows over the outputs on parts of one box, for the signs of neurons.

    Attributes:
        least: lower bounds of the ideal values of the rows, of shape (parts, rows).
        lines: how much of `least` the lines above the Relus take, of the same shape.
        influence: the rows over the inputs that the bounds come from, of shape (parts, rows, inputs).
        points: the inputs where the bounds are least, of the same shape.
        costs: for each layer about what the lines of a neuron take, 0 of one with a sign, (parts, rows, neurons).
        slopes: for each layer how the bound changes with a multiplier, of the same shape.
        scales: for each layer the sizes of the rows over it, of shape (parts, rows, 1).
    """

    least: Array
    lines: Array
    influence: Array
    points: Array
    costs: list[Array]
    slopes: list[Array]
    scales: list[Array]


def least_on_sides(on: BatchBounds, atoms: Array, sides: Sequence[Array], multipliers: Sequence[Array]) -> OnSides:
    """Lower bounds of rows over the outputs on parts of one box.

    Args:
        on: what is known on the box, one of a batch of one.
        atoms: the rows, of shape (rows, outputs).
        sides: for each layer the signs of its neurons, 0 where a part has both, of shape (parts, neurons).
        multipliers: for each layer, numbers of at least 0, of shape (parts, rows, neurons).
    """
    chain, parts = on.chain, len(sides[0]) if sides else 1
    R = np.broadcast_to(atoms, (parts, *atoms.shape))
    total, slack, lines = (np.zeros(R.shape[:2]) for _ in range(3))
    kept: dict[int, tuple[Array, Array]] = {}
    costs, scales = [np.zeros(0)] * len(sides), [np.zeros(0)] * len(sides)
    for place in range(len(chain.W) - 1, -1, -1):
        W, b = chain.W[place], chain.b[place]
        size = on.reach[place][0] @ np.abs(W).T + np.abs(b)
        slack += chain.gammas[place] * (np.abs(R) @ size)
        total += R @ b
        R = R @ W
        if place:
            side, number = sides[place - 1][:, None], place - 1
            scales[number] = np.abs(R).max(axis=2, keepdims=True)
            below, above = (np.where(side == 0, line[0], side > 0) for line in (on.slopes[number], on.above[number]))
            offset = np.where(side == 0, on.offset[number][0], 0.0)
            slack += 8 * UNIT * (np.abs(R) @ (on.most[number][0] + on.offset[number][0]))
            negative = np.minimum(R, 0.0)
            cost = np.where(R < 0, -R, 0.5 * R) * offset * (on.slopes[number][0] != on.above[number][0])
            taken = (negative * offset).sum(axis=2)
            total, lines, costs[number] = total + taken, lines - taken, cost
            slope = np.where(R >= 0, below, above)
            kept[number] = slope, np.where(R >= 0, 0.0, offset)
            weight = side * multipliers[number]
            slack += 8 * UNIT * (np.abs(weight) @ on.most[number][0])
            R = np.maximum(R, 0.0) * below + negative * above - weight
        slack += 8 * UNIT * np.abs(total)
    slack += chain.gammas[0] * (np.abs(R) @ on.reach[0][0])
    total += np.maximum(R, 0.0) @ on.low[0] + np.minimum(R, 0.0) @ on.high[0]
    least = total - 1.01 * slack - 8 * UNIT * np.abs(total) - TINY
    points = np.where(R >= 0, on.low[0], on.high[0])
    value, slopes = points, list[Array]()
    for number, side in enumerate(sides):
        z = value @ chain.W[number].T + chain.b[number]
        slopes.append(-side[:, None] * z)
        slope, offset = kept[number]
        value = slope * z + offset
    return OnSides(least, lines, R, points, costs, slopes, scales)


TINY_INPUT = 2.0**-80
"""More than the least normal float, which an implementation may flush; as coarse as the certificate's numbers."""


def _times(rows: Array, values: Array) -> Array:
    """The products of rows (boxes, rows, n) with values (boxes, n)."""
    return np.asarray(np.matmul(rows, values[:, :, None])[:, :, 0])
