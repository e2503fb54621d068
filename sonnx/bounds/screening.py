"""Errors of all elements of a tensor with spatial axes, by rows that are followed together.

An element of a convolution depends on a window of what is before it.  Elements whose windows have no place in common,
in any value back to where the rows end, share one row: what the row adds up over a window belongs to its element.  So
there are as many rows as a window has places, not as the tensor has.  A value where rows end counts with its own error.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sonnx.bounds.adjoint import accumulated_errors
from sonnx.numerics.enclosures.arithmetic import grown
from sonnx.numerics.enclosures.values import Neighbourhood, Value, spread
from sonnx.numerics.formats import Array

BLOCK = 2**17
"""Numbers in the rows over the tensor that are followed at once, so that they stay in a cache."""


@dataclass(frozen=True, eq=False)
class SharedRows:
    """The values that a tensor depends on, back to where rows end.

    Attributes:
        target: the tensor, (1, C, spatial axes).
        reaches: by serial number, which places of a value an element of the tensor depends on.
        ends: the serial numbers of the values where rows end.
        size: the numbers in a row over all of them.
    """

    target: Value
    reaches: dict[int, Neighbourhood]
    ends: frozenset[int]
    size: int

    @classmethod
    def before(cls, target: Value, is_end: Callable[[Value, Neighbourhood], bool]) -> SharedRows | None:
        """The windows of a tensor; None where an element of it may depend on any other.

        Args:
            target: the tensor.
            is_end: whether rows end at a value, by the places of it that an element depends on; they also end where a
                value depends on any place of another.
        """
        if len(target.shape) < 3 or target.shape[0] != 1 or _operands(target) is None:
            return None
        reaches, values, ends, queue = (
            {target.serial: Neighbourhood.same(target.shape)},
            {target.serial: target},
            [],
            [-target.serial],
        )
        while queue:
            serial = -heapq.heappop(queue)
            value, reach = values[serial], reaches[serial]
            operands = _operands(value)
            if operands is None or (value is not target and is_end(value, reach)):
                ends.append(serial)
                continue
            for operand, local in operands:
                here, known = reach.before(local), reaches.get(operand.serial)
                if known is None:
                    heapq.heappush(queue, -operand.serial)
                elif known.strides != here.strides:
                    return None
                else:
                    here = Neighbourhood(here.strides, *(tuple(map(choose, *ends_of)) for choose, ends_of in (
                        (min, (here.first, known.first)), (max, (here.last, known.last)))))  # fmt: skip
                reaches[operand.serial], values[operand.serial] = here, operand
        return cls(target, reaches, frozenset(ends), sum(value.low.size for value in values.values()))

    @property
    def spacing(self) -> tuple[int, ...]:
        """How far apart elements are, on each axis, whose windows have no place in common."""
        widths = [
            tuple(-(-(last - first + 1) // stride) for stride, first, last in zip(*reach, strict=True))
            for reach in self.reaches.values()
        ]
        return tuple(
            min(extent, max(axis))
            for extent, axis in zip(self.target.shape[2:], zip(*widths, strict=True), strict=True)
        )

    @property
    def work(self) -> int:
        """The numbers in all rows."""
        return self.target.shape[1] * prod(self.spacing) * self.size

    def errors(self) -> Array:
        """Bounds of the errors of all elements of the tensor."""
        spacing, channels = self.spacing, self.target.shape[1]
        bound, together = np.empty(self.target.shape), max(1, BLOCK // self.target.low.size)
        for starts in product(*map(range, spacing)):
            places: list[Any] = [slice(start, None, step) for start, step in zip(starts, spacing, strict=True)]
            for first in range(0, channels, together):
                picked = range(first, min(first + together, channels))
                rows = np.zeros((len(picked), *self.target.shape))
                for row, channel in enumerate(picked):
                    rows[(row, 0, channel, *places)] = 1
                bound[(0, slice(first, first + together), *places)] = accumulated_errors(
                    self.target, rows, partial(self._by_place, starts), self.ends
                )
        return bound

    def _by_place(self, starts: Sequence[int], value: Value, rows: Array, sizes: Array) -> Array:
        """Σ |rows| sizes over the window of each place that a row picks, rounded up."""
        sums = (np.abs(rows) * spread(sizes, value.shape)).sum(axis=(1, 2))
        reach, spacing = self.reaches[value.serial], self.spacing
        for axis, extent in enumerate(value.shape[2:]):
            places = np.arange(starts[axis], self.target.shape[2 + axis], spacing[axis]) * reach.strides[axis]
            begins = np.clip(places + reach.first[axis], 0, extent)
            ends = np.clip(places + reach.last[axis] + 1, 0, extent)
            widths = [(0, 0)] * sums.ndim
            widths[1 + axis] = (0, 1)
            cuts = np.stack([begins, ends], axis=1).reshape(-1)
            parts = np.add.reduceat(np.pad(sums, widths), cuts, axis=1 + axis)
            filled = (begins < ends).reshape(-1, *[1] * (sums.ndim - axis - 2))
            sums = np.take(parts, np.arange(0, len(cuts), 2), axis=1 + axis) * filled
        return grown(sums, value.low.size + 4)


def _operands(value: Value) -> list[tuple[Value, Neighbourhood]] | None:
    """The inputs with errors that a value depends on, and by which places; None where that may be any place, or where
    the value is an input.
    """
    transfer = value.transfer
    if transfer is None:
        return None
    known = transfer.local or (None,) * len(transfer.inputs)
    pairs = [(x, local) for x, local in zip(transfer.inputs, known, strict=True) if x.has_error]
    operands = [(x, local) for x, local in pairs if local is not None]
    spatial = len(value.shape) >= 3 and value.shape[0] == 1
    return operands if spatial and len(operands) == len(pairs) else None
