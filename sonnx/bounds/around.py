"""Bounds around a reference run: how far ideal values are from it, then how far computed values are from ideal ones.

Let r be the values of a float64 run at the centre of a box.  Both steps are the analysis of errors that `domain` makes,
applied to differences, and every element on which more than a linear map depends has its own row:

1. The reference is the ideal run, and the ideal values for the inputs of the box are what an implementation without
   roundings computes, whose inputs are off by the radius of the box.  So |x - r| <= w, where a transfer says what its
   operator adds.  The reference is rounded: a value is the centre of what its operator gives for the values before it,
   and the radius of that counts as introduced, so nothing is assumed of its roundings.
2. The range of each value is r - w to r + w, and the errors of implementations are followed as always.

No range of a hidden value is made from the ranges before it, which is what makes intervals grow from layer to layer.
Slopes are those at the reference; what is left is of second order in w and e.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import numpy as np

from sonnx.bounds.domain import BoundsDomain, Memory, ancestors_size
from sonnx.bounds.screening import BLOCK, SharedRows
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below, centre, grown
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Neighbourhood, NotBounded, Value, spread
from sonnx.numerics.formats import Array

MAX_NUMBERS = 2**32
"""Numbers in the rows of one of the two steps at most; what is left keeps the errors it has."""

ROWS_APART = 2**26
"""Numbers in the rows of elements at kinks, above which all elements of their value have rows together first."""

WIDTHS = (inf, 17, 13, 11, 9, 7, 5)
"""Places of the windows, along an axis, at which rows end: the first that the work allows."""


class RowsDomain(BoundsDomain):
    """The errors of elements on which remainders depend, by rows; of many elements by rows that they share.

    Args:
        hypotheses: about the implementations.
        folder: where the model file stands.
        memory: what runs share.
    """

    block_elements = BLOCK

    def __init__(self, hypotheses: Hypotheses, folder: Path | None, memory: Memory) -> None:
        super().__init__(hypotheses, folder, memory, relax=False)
        self.sharp: set[int] = set()
        """The serial numbers of the values of which all elements had rows."""

    def sharpen(self, value: Value) -> Value:
        """The value with the errors of all elements by rows, where the work that is left allows it."""
        return self._all_improved(value, self._left / 4)

    def _all_improved(self, value: Value, most: float) -> Value:
        """See `sharpen`; the widest windows are taken whose work is at most this."""
        value = self.latest(value)
        if not self._can_improve(value) or value.serial in self.sharp:
            return value
        everywhere = value.low.size * ancestors_size(value)
        windows = self._windows(value, min(most, 2 * everywhere))
        cost = windows.work if windows is not None else everywhere
        if cost > most:
            self.coarse += [value.name] if value.name else []
            return value
        self.work += cost
        if windows is None:
            value = self.tightened_error(value, np.arange(value.low.size))
        else:
            value = replace(value, error=np.fmin(value.error, windows.errors()))
        self.sharp.add(value.serial)
        self.refined[value.serial] = value
        return value

    def _windows(self, value: Value, most: float) -> SharedRows | None:
        """The windows of a value whose work is at most this: back to the inputs, or as wide as they may be."""
        for width in WIDTHS:
            windows = SharedRows.before(value, partial(self._is_restart, width))
            if windows is None or windows.work <= most:
                return windows
        return None

    def _refine(self, value: Value, wanted: Callable[[Value], Array]) -> Value:
        """The value with better errors of the elements marked: of all elements together first, where they are many."""
        value = self.latest(value)
        if not self._can_improve(value):
            return value
        marked, size = np.flatnonzero(wanted(value)), ancestors_size(value)
        if len(marked) * size > ROWS_APART:
            value = self._all_improved(value, min(self._left / 4, len(marked) * size))
            marked = np.flatnonzero(wanted(value))
        most = int(self._left / 2 / max(size, 1))
        if not len(marked) or not most:
            return value
        if len(marked) > most:
            self.coarse += [value.name] if value.name else []
            marked = marked[:most]
        self.work += len(marked) * size
        value = self.tightened_error(value, marked)
        self.refined[value.serial] = value
        return value

    @property
    def _left(self) -> float:
        return MAX_NUMBERS - self.work

    def _can_improve(self, value: Value) -> bool:
        return value.transfer is not None and value.has_error and not value.unbounded and not self.is_read_once(value)

    def _is_restart(self, width: float, value: Value, reach: Neighbourhood) -> bool:
        """Whether rows end at a value: windows are so wide there, or half so wide where what it is made of had rows."""
        widest = max(-(-(last - first + 1) // stride) for stride, first, last in zip(*reach, strict=True))
        operands = [] if value.transfer is None else [x for x in value.transfer.inputs if x.has_error]
        had_rows = value.serial in self.sharp or (bool(operands) and all(x.serial in self.sharp for x in operands))
        return widest >= width or (had_rows and 2 * widest >= width)


class ReferenceDomain(RowsDomain):
    """Values are those of the reference; the error is how far ideal values are away."""

    def __init__(self, hypotheses: Hypotheses, folder: Path | None, memory: Memory) -> None:
        super().__init__(hypotheses.unrounded(), folder, memory)
        self.kept: dict[str, list[Value]] = {}
        """The values of each node, steps first, in the order of computation."""

    def settled(self, value: Value) -> Value:
        """The value at the centre of its range."""
        if not value.unbounded and value.transfer is not None:
            middle, radius = centre(value.low, value.high)
            if value.element not in FORMATS and radius.any():
                raise NotBounded(f"{value.node}: no reference decides what it decides")
            introduced = grown(value.transfer.introduced + radius, 1)
            transfer = replace(
                value.transfer, low=middle, high=middle, introduced=introduced, sum=None, ideal=None, relaxed=None
            )
            error = spread(transfer.error, value.shape)
            value = replace(
                value, low=middle, high=middle, transfer=transfer, introduced=spread(introduced, value.shape),
                error=error if value.element in FORMATS else np.floor(error),
            )  # fmt: skip
        self.kept.setdefault(value.node, []).append(value)
        return value


class ComputedDomain(RowsDomain):
    """Ranges are those around the reference; the error is that of implementations.

    Args:
        reference: the run that says how far ideal values are from the reference.
        hypotheses: about the implementations.
    """

    def __init__(self, reference: ReferenceDomain, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses, reference.folder, reference.memory)
        self.reference = reference
        self.met: dict[str, int] = {}

    def settled(self, value: Value) -> Value:
        """The value with its range around the reference."""
        number = self.met.get(value.node, 0)
        self.met[value.node] = number + 1
        kept = self.reference.kept.get(value.node, [])
        ideal = self.reference.latest(kept[number]) if number < len(kept) else None
        if value.unbounded or ideal is None or ideal.unbounded or value.transfer is None:
            return value
        if ideal.shape != value.shape:
            raise NotBounded(f"{value.node}: the reference has other steps")
        low, high = below(ideal.low - ideal.error), above(ideal.high + ideal.error)
        if value.element not in FORMATS:
            low, high = np.ceil(low), np.floor(high)
        low, high = np.fmax(value.low, low), np.fmin(value.high, high)
        transfer = replace(value.transfer, low=low, high=high)
        error = spread(transfer.error, value.shape)
        error = error if value.element in FORMATS else np.floor(error)
        return replace(value, low=low, high=high, transfer=transfer, error=np.fmin(value.error, error))
