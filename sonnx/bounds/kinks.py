"""Ranges where rectifiers are undecided: lines chosen for each row, and each side of a kink by itself.

The relaxation puts a rectifier f between two lines.  Below it, any slope between its two will do.  On one side of the
kink, z >= 0 or z <= 0, it is a line itself, and w z or -w z with w >= 0 can be added to an upper bound (theorem
bounds.sides).  So a row whose bound is not attained is replaced by two, one for each side of the kink that costs most;
the larger of their bounds holds.  Slopes, sides and weights are searched for in plain float64: `adjoint.upper` rounds
outward for whatever was chosen.  It is done where the linear maps between rectifiers are small matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sonnx.bounds import adjoint
from sonnx.numerics.enclosures.values import Chosen, Lines, Value
from sonnx.numerics.formats import Array

ROUNDS, STEPS, WORST = 16, 20, 64
"""How often rows are bounded, steps of each search, and rows replaced at a time."""

FEW = 5
"""Steps of the search where no row is replaced."""

CLOSE = 2.0**-7
"""The share of a range by which its end may be away from a value that is attained."""

MOST = 1 << 18
"""Numbers in a matrix between rectifiers at most."""


def ranges(target: Value, rows: Array, rounds: int = 0) -> tuple[Array, Array]:
    """The range of row · x for the ideal values x of a tensor, one for each row of shape (m, *value).

    By the relaxation; slopes are chosen where `rounds` is 1, slopes and sides where it is more.
    """
    both = np.concatenate([rows, -rows])
    high = adjoint.upper(target, both)
    network = Network.before(target, rows) if rounds else None
    if network is not None and len(network.left):
        high = np.fmin(high, _followed(network, target, both, high, rounds))
    if target.closer is None:
        return -high[len(rows) :], high[: len(rows)]
    least, most = adjoint.about(target.closer.ideal, rows)
    return np.fmax(-high[len(rows) :], least), np.fmin(high[: len(rows)], most)


class Choice(NamedTuple):
    """Slopes below, sides and weights for each row and kink, shape (m, kinks)."""

    slope: Array
    side: Array
    weight: Array

    def of(self, places: Array) -> Choice:
        """The rows at these places."""
        return Choice(*(array[places] for array in self))


class Layer(NamedTuple):
    """Some elements of a value, flat: of an input, or of an operator between lines; then its arguments are
    constant + Σ matrix · (a layer before, by its number).  `at` are the places of kinks in a `Choice`.
    """

    value: Value
    elements: Array
    lines: Lines | None = None
    constant: Array | float = 0.0
    maps: Mapping[int, Array] = MappingProxyType({})
    at: slice = slice(0, 0)


class Evaluation(NamedTuple):
    """What a choice of lines gives for each row: its bound; the slopes of the bound in those of the lines and in the
    weights; the size of the row over each kink; what each kink costs; and a value of the row that an input attains.
    """

    bound: Array
    by_slope: Array
    by_weight: Array
    size: Array
    cost: Array
    attained: Array


@dataclass(frozen=True, eq=False)
class Network:
    """Rows over a tensor: constant + Σ matrix · (a layer); the layers by their numbers, in the order of computation."""

    constant: Array
    maps: Mapping[int, Array]
    layers: Mapping[int, Layer]
    left: Array
    """The slope left of each kink."""
    lower: Array
    """The slope of the line below it that costs the least area."""

    @classmethod
    def before(cls, target: Value, rows: Array) -> Network | None:
        """The network of rows over a value, None where a matrix would be large."""
        affine = _affine(target, rows)
        if affine is None:
            return None
        constant, maps, waiting = affine
        layers, left, lower, kinks = dict[int, Layer](), [np.zeros(0)], [np.zeros(0)], 0
        while waiting:
            value, elements = waiting.pop()
            lines = _lines(value)
            if value.serial in layers:
                continue
            if lines is None or value.transfer is None:
                layers[value.serial] = Layer(value, elements)
                continue
            x = value.transfer.inputs[0]
            parts = _affine(x, adjoint.one_hot(x.shape, elements)) if len(elements) * x.low.size <= MOST else None
            if parts is None:
                return None
            number = len(elements) if lines.left is not None else 0
            if lines.left is not None:
                left.append(np.full(number, lines.left))
                lower.append(lines.lower_slope.reshape(-1)[elements])
            own = Lines(
                lower_slope=lines.lower_slope.reshape(-1)[elements],
                lower_offset=lines.lower_offset.reshape(-1)[elements],
                upper_slope=lines.upper_slope.reshape(-1)[elements],
                upper_offset=lines.upper_offset.reshape(-1)[elements],
                left=lines.left,
            )
            layers[value.serial] = Layer(value, elements, own, *parts[:2], slice(kinks, kinks + number))
            kinks, waiting = kinks + number, waiting + parts[2]
        in_order = {serial: layers[serial] for serial in sorted(layers)}
        return cls(constant, maps, in_order, np.concatenate(left), np.concatenate(lower))

    def chosen(self, choice: Choice) -> dict[int, Chosen]:
        """A choice as `adjoint.upper` takes it."""
        return {
            serial: Chosen(layer.elements, *(array[:, layer.at] for array in choice))
            for serial, layer in self.layers.items()
            if layer.at.stop > layer.at.start
        }

    def evaluated(self, rows: Array, choice: Choice) -> Evaluation:
        """Follow rows back to the inputs, and from the worst inputs forward again."""
        total, zero = rows @ self.constant, np.zeros(choice.slope.shape)
        size, cost, by_slope, by_weight = (np.array(zero) for _ in range(4))
        back = {serial: rows @ matrix for serial, matrix in self.maps.items()}
        kept: dict[int, tuple[Array, Array, Array]] = {}
        for serial, layer in reversed(list(self.layers.items())):
            g, lines, at = back[serial], layer.lines, layer.at
            up = g > 0
            if lines is None:
                low, high = layer.value.low.reshape(-1), layer.value.high.reshape(-1)
                worst = np.where(up, high[layer.elements], low[layer.elements])
                total = total + (g * worst).sum(1)
                kept[serial] = g, worst, worst
                continue
            slope, offset = (
                np.where(up, lines.upper_slope, lines.lower_slope),
                np.where(up, lines.upper_offset, lines.lower_offset),
            )
            h: Array | float = 0.0
            if at.stop > at.start:
                side = choice.side[:, at]
                slope = np.where(up, slope, choice.slope[:, at])
                slope = np.where(side == 0, slope, np.where(side > 0, 1.0, self.left[at]))
                offset = offset * (side == 0)
                h = side * choice.weight[:, at]
                size[:, at] = np.abs(g).max(1, keepdims=True)
            h = g * slope + h
            total = total + (g * offset).sum(1) + h @ layer.constant
            kept[serial] = g, slope, offset
            for before, matrix in layer.maps.items():
                back[before] = h @ matrix + back.get(before, 0.0)
        by_lines, ideal = dict[int, Array](), dict[int, Array]()
        for serial, layer in self.layers.items():
            g, slope, offset = kept[serial]
            if layer.lines is None:
                by_lines[serial] = ideal[serial] = slope
                continue
            z, x = (
                layer.constant + sum(y[s] @ matrix.T for s, matrix in layer.maps.items()) for y in (by_lines, ideal)
            )
            by_lines[serial], ideal[serial] = slope * z + offset, slope * x + offset
            if (at := layer.at).stop > at.start:
                side, left = choice.side[:, at], self.left[at]
                ideal[serial] = np.where(x > 0, x, left * x)
                by_slope[:, at] = np.minimum(g, 0) * z * (side == 0)
                by_weight[:, at] = side * z
                cost[:, at] = np.where(side == 0, g * (by_lines[serial] - np.where(z > 0, z, left * z)), -np.inf)
        end = self.constant + sum(ideal[s] @ matrix.T for s, matrix in self.maps.items())
        return Evaluation(total, by_slope, by_weight, size, cost, (rows * end).sum(1))


def _lines(value: Value) -> Lines | None:
    """The lines that enclose a value between them; None where another relaxation, or none, was made."""
    relaxation = value.transfer.relaxation if value.transfer is not None else None
    return relaxation if isinstance(relaxation, Lines) else None


def _affine(value: Value, rows: Array) -> tuple[Array, dict[int, Array], list[tuple[Value, Array]]] | None:
    """Rows over a value as constant + Σ matrix · (elements of values between lines, or of inputs), and these; None
    where that is large.  A rectifier is a line where it has no kink.
    """
    n, pending = len(rows), adjoint.Pending()
    constant, maps, met = np.zeros(n), dict[int, Array](), list[tuple[Value, Array]]()
    pending.add(value, rows)
    while (latest := pending.pop()) is not None:
        operand, g = latest
        flat, transfer = g.reshape(n, -1), None if operand.transfer is None else operand.transfer.followed
        relaxation = transfer.relaxation if transfer is not None and transfer.inputs else None
        if transfer is None or relaxation is None or isinstance(relaxation, Lines):
            places = np.arange(flat.shape[1])
            if isinstance(relaxation, Lines) and relaxation.left is not None:
                places = np.flatnonzero(relaxation.upper_offset)
            if len(places):
                maps[operand.serial] = flat[:, places]
                met.append((operand, places))
            if transfer is not None and isinstance(relaxation, Lines) and len(places) < flat.shape[1]:
                rest = flat * relaxation.upper_slope.reshape(-1)
                rest[:, places] = 0
                pending.add(transfer.inputs[0], rest.reshape(g.shape))
            continue
        constant = constant + flat @ (0.5 * relaxation.low + 0.5 * relaxation.high).reshape(-1)
        if max(x.low.size for x in transfer.inputs) * n > MOST:
            return None
        for x, pull in zip(transfer.inputs, transfer.pulls, strict=True):
            pending.add(x, pull(g))
    return constant, maps, met


def _searched(network: Network, rows: Array, choice: Choice, steps: int) -> tuple[Choice, Array, Array]:
    """Improve slopes and weights by gradient steps on the bound; what each kink costs then, and a value attained."""
    best, bound, cost, attained = choice, np.full(len(rows), np.inf), choice.slope, np.full(len(rows), -np.inf)
    means = squares = np.zeros((2, *choice.slope.shape))
    for step in range(steps):
        evaluation = network.evaluated(rows, choice)
        attained = np.maximum(attained, evaluation.attained)
        better = evaluation.bound < bound
        bound = np.minimum(bound, evaluation.bound)
        best = Choice(*(np.where(better[:, None], new, old) for new, old in zip(choice, best, strict=True)))
        cost = np.where(better[:, None], evaluation.cost, cost)
        gradient = np.stack([evaluation.by_slope, evaluation.by_weight])
        means, squares = 0.9 * means + 0.1 * gradient, 0.99 * squares + 0.01 * gradient**2
        size = 0.3 * 0.9**step / (1 - 0.9 ** (step + 1)) * (1 - 0.99 ** (step + 1)) ** 0.5
        move = size * means / (np.sqrt(squares) + 1e-30)
        slope = np.clip(choice.slope - move[0], network.left, 1.0)
        weight = np.maximum(choice.weight - move[1] * evaluation.size, 0.0)
        choice = Choice(slope, choice.side, weight)
    return best, cost, attained


def _followed(network: Network, target: Value, rows: Array, high: Array, rounds: int) -> Array:
    """Upper bounds of rows, then of -rows, with both sides of the kinks that cost most bounded by themselves."""
    m, unit = len(rows), np.eye(len(rows) // 2)
    signs, owner, bound = np.concatenate([unit, -unit]), np.arange(m), high
    zero = np.zeros((m, len(network.left)))
    choice = Choice(zero + network.lower, zero, zero)
    attained, done = np.full(m, -np.inf), np.full(m, -np.inf)
    kept = (owner[:0], bound[:0], choice.of(owner[:0]), zero[:0])
    for number in range(rounds):
        choice, cost, reached = _searched(network, signs[owner], choice, STEPS if rounds > 1 else FEW)
        bound = np.fmin(bound, adjoint.upper(target, rows[owner], network.chosen(choice)))
        np.maximum.at(attained, owner, reached)
        owner, bound, cost = (
            np.concatenate(row) for row in zip((kept[0], kept[1], kept[3]), (owner, bound, cost), strict=True)
        )
        choice = Choice(*(np.concatenate(row) for row in zip(kept[2], choice, strict=True)))
        width = attained + np.roll(attained, m // 2)
        above = bound - attained[owner] - CLOSE * width[owner]
        worth = (above > 0) & (cost.max(1) > -np.inf)
        np.maximum.at(done, owner[~worth], bound[~worth])
        places = np.flatnonzero(worth)
        if not len(places) or number == rounds - 1:
            break
        order = places[np.argsort(-above[places] / width[owner[places]])]
        split, rest = order[:WORST], order[WORST:]
        kept = owner[rest], bound[rest], choice.of(rest), cost[rest]
        kink, twice = cost[split].argmax(1), np.concatenate([split, split])
        owner, bound, choice = owner[twice], bound[twice], choice.of(twice)
        choice.side[np.arange(len(twice)), np.concatenate([kink, kink])] = np.repeat([1.0, -1.0], len(split))
    np.maximum.at(done, owner[places], bound[places])
    return done
