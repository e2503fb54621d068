"""The adjoint pass: errors and ranges of linear combinations of a tensor, followed back to where they come from.

Errors.  For a row g over a tensor y with errors d, the claim is |g d| <= bound.  A transfer says d = Σ C_k d_k + noise.
For *any* numbers h_k that stand for C_k' g,

    g d = Σ h_k d_k + Σ (C_k' g - h_k) d_k + g noise,

so a rounding of C_k' g costs at most its size times the error of x_k (telescoping, theorem bounds.telescoping).  Each
entry of h_k is a sum of at most n float64 products, so Σ |C_k' g - h_k| |d_k| <= γ_n |g| Σ |C_k| |d_k|, and the last
factor is `propagated`, which the forward pass has.  So γ_n propagated is part of `Transfer.noise`, and the pass is
plain float64.

Ranges.  The same with y = Σ C_k x_k + constant, where |C_k| |x_k| stands for the propagated error, and with two lines
for an elementwise operator: the upper one where an entry of the row is positive, the lower one where it is negative.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from sonnx.numerics.enclosures.arithmetic import UNIT, above, below, grown, magnitude
from sonnx.numerics.enclosures.values import Chosen, Lines, Transfer, Value, spread
from sonnx.numerics.formats import Array

BLOCK_ELEMENTS = 1 << 23
"""Elements of the widest rows that are followed at once."""

NOTHING: Mapping[int, Chosen] = MappingProxyType({})


class Pending:
    """Rows over values that were met and not followed yet; the latest value comes first."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[Value, Array]] = {}
        self.queue: list[int] = []

    def add(self, value: Value, rows: Array) -> Array | None:
        """Add rows over a value; the absolute sums, which bound what adding rounds, None for the first rows."""
        earlier = self.rows.get(value.serial)
        if earlier is None:
            heapq.heappush(self.queue, -value.serial)
            self.rows[value.serial] = value, rows
            return None
        array: Array = earlier[1] + rows
        self.rows[value.serial] = value, array
        return np.asarray(np.abs(array))

    def pop(self) -> tuple[Value, Array] | None:
        """The latest value with its rows."""
        return self.rows.pop(-heapq.heappop(self.queue)) if self.queue else None


def _against(rows: Array, values: Array) -> Array:
    """Σ |rows| values for each row, rounded up."""
    flat = np.abs(rows).reshape(len(rows), -1)
    return grown(flat @ spread(values, rows.shape[1:]).reshape(-1), flat.shape[1] + 2)


def errors(target: Value, rows: Array) -> Array:
    """Bounds of |row d| for the errors d of a value, one for each row of shape (m, *value)."""
    if target.closer is None:
        return _errors(target, rows)
    return np.asarray(np.fmin(_errors(target, rows), _errors(target.closer.computed, rows)))


def about(ideal: Value, rows: Array) -> tuple[Array, Array]:
    """The ends of row · x for the ideal values x of a tensor, by those of a reference run (`Around.ideal`)."""
    flat, reference = rows.reshape(len(rows), -1), ideal.low.reshape(-1)
    middle, roundings = flat @ reference, flat.shape[1] + 4
    slack = grown(np.abs(flat) @ np.abs(reference) * (2 * UNIT * roundings), roundings)
    radius = grown(_errors(ideal, rows) + slack + 2 * UNIT * np.abs(middle), 4)
    return below(middle - radius), above(middle + radius)


def _errors(target: Value, rows: Array) -> Array:
    return accumulated_errors(target, rows, lambda _, g, sizes: _against(g, sizes))


Against = Callable[[Value, Array, Array], Array]
"""What rows over a value make of sizes of its elements: sums of |rows| sizes, rounded up."""


def accumulated_errors(target: Value, rows: Array, against: Against, ends: Collection[int] = ()) -> Array:
    """Bounds of |row d| for the errors d of a value, followed back to model inputs.

    Args:
        target: the value.
        rows: over it.
        against: adds up what rows make of the errors of one value.
        ends: serial numbers of values where rows end, too; these count with their own errors.
    """
    bound, pending, steps = np.zeros(()), Pending(), 0
    pending.add(target, rows)
    while (latest := pending.pop()) is not None:
        value, g = latest
        if value.transfer is None or value.serial in ends:
            if value.has_error:
                bound = bound + against(value, g, value.error)
            continue
        bound = bound + against(value, g, value.transfer.noise)
        steps += 2
        for operand, pull in zip(value.transfer.inputs, value.transfer.pulls, strict=True):
            if not operand.has_error:
                continue
            size = pending.add(operand, pull(g))
            if size is not None:
                bound = bound + against(operand, size, 2 * UNIT * operand.error)
                steps += 1
    return grown(bound, steps + 2)


def _visited(target: Value, rows: Array, *, every: bool = False) -> Iterator[tuple[Value, Array, Transfer | None]]:
    """The values that a tensor is made of, latest first, with the rows over them and their transfers: those with
    errors, or `every` one.
    """
    pending = Pending()
    pending.add(target if target.closer is None else target.closer.computed, rows)
    while (latest := pending.pop()) is not None:
        value, g = latest
        transfer = value.transfer
        yield value, g, transfer
        for operand, pull in zip(transfer.inputs, transfer.pulls, strict=True) if transfer is not None else ():
            if every or operand.has_error:
                pending.add(operand, pull(g))


def contributions(target: Value, row: Array) -> dict[str, float]:
    """What the noise of each node adds to the bound of one row; not rounded outward, so not itself a bound."""
    parts = dict[str, float]()
    for value, g, transfer in _visited(target, row):
        if transfer is not None:
            parts[value.node] = parts.get(value.node, 0.0) + float(_against(g, transfer.noise)[0])
    return parts


def deviations(target: Value, rows: Array) -> Array:
    """The standard deviation of row d if roundings were independent and centred; an estimate, not a bound.

    The n roundings of a sum deviate by at most their bound over the root of n; a residual error counts whole.
    """
    variance = np.zeros(len(rows))
    for value, g, transfer in _visited(target, rows):
        if transfer is not None:
            own = spread(transfer.introduced / max(transfer.terms, 1) ** 0.5 + transfer.residual, value.shape)
            variance = variance + (g.reshape(len(g), -1) ** 2) @ (own.reshape(-1) ** 2)
    return np.sqrt(variance)


def signs(target: Value, row: Array) -> dict[str, Array]:
    """For each value the introduced errors with the signs that add up most in the row: what attains the bound."""
    return {v.name: np.sign(g[0]) * v.introduced for v, g, transfer in _visited(target, row) if transfer is not None}


def sensitivity(target: Value, row: Array) -> dict[str, Array]:
    """The row over each model input, by the maps C_k: an estimate, for choosing what to halve."""
    return {value.name: g[0] for value, g, transfer in _visited(target, row, every=True) if transfer is None}


def upper(target: Value, rows: Array, chosen: Mapping[int, Chosen] = NOTHING) -> Array:
    """Upper bounds of row · x for the ideal values x of a tensor, one for each row of shape (m, *value).

    `chosen` has lines and sides of kinks by the serial number of a value; then the bounds hold for the x on these
    sides.  What float64 rounds when the constants are added up is added to the bounds.
    """
    total, size, slack, pending, steps = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows)), Pending(), 0

    def ends(g: Array, low: Array, high: Array) -> None:
        nonlocal total, size, steps
        flat = g.reshape(len(g), -1)
        low, high = (spread(array, g.shape[1:]).reshape(-1) for array in (low, high))
        total = total + (np.maximum(flat, 0) @ high + np.minimum(flat, 0) @ low)
        size = size + np.abs(flat) @ magnitude(low, high) * (flat.shape[1] + 4)
        steps += 1

    pending.add(target, rows)
    while (latest := pending.pop()) is not None:
        value, g = latest
        transfer = None if value.transfer is None else value.transfer.followed
        if transfer is None or (relaxation := transfer.relaxation) is None or not transfer.inputs:
            ends(g, value.low, value.high)
            continue
        if isinstance(relaxation, Lines):
            x, lines, choice = transfer.inputs[0], relaxation, chosen.get(value.serial)
            up, down = np.maximum(g, 0), np.minimum(g, 0)
            if choice is None:
                h = up * lines.upper_slope + down * lines.lower_slope
            else:
                h, up, weight = choice.followed(lines, up, down)
                slack = slack + _against(weight, 4 * UNIT * x.magnitude)
            flat_up, flat_down = up.reshape(len(g), -1), down.reshape(len(g), -1)
            total = total + (flat_up @ lines.upper_offset.reshape(-1) + flat_down @ lines.lower_offset.reshape(-1))
            offsets = np.maximum(np.abs(lines.upper_offset), np.abs(lines.lower_offset)).reshape(-1)
            size = size + np.abs(g).reshape(len(g), -1) @ offsets * (flat_up.shape[1] + 4)
            slack = slack + _against(g, transfer.slack)
            after = pending.add(x, h)
            if after is not None:
                slack = slack + _against(2 * UNIT * after, x.magnitude)
            steps += 2
            continue
        if relaxation.low.any() or relaxation.high.any():
            ends(g, relaxation.low, relaxation.high)
        slack = slack + _against(g, transfer.slack)
        for operand, pull in zip(transfer.inputs, transfer.pulls, strict=True):
            after = pending.add(operand, pull(g))
            if after is not None:
                slack = slack + _against(2 * UNIT * after, operand.magnitude)
        steps += 2
    return np.asarray(total + grown(size * 2 * UNIT * (steps + 2) + slack, 6 + steps))


def one_hot(shape: tuple[int, ...], elements: Array) -> Array:
    """Rows that pick elements by their flat numbers."""
    rows = np.zeros((len(elements), prod(shape)))
    rows[np.arange(len(elements)), elements] = 1
    return rows.reshape(len(elements), *shape)
