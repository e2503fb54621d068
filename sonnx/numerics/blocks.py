"""Blocks: cutting arrays into pieces that stay in the cache while several passes go over them.

Operands of one element, a bias along an axis, and views with any strides are brought into a flat piece of scratch
memory.  An operand that is the same in every block is brought there once: numpy has no vector code for stride 0.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.numerics.formats import Array

FIRST_NUMBER = 8
"""Scratch numbers below this one belong to the kernels."""


class Operand:
    """One operand, broadcast to the common shape, as flat pieces.

    Axes before `chunked` are walked one index at a time, axis `chunked` in pieces, axes after it are whole.
    """

    def __init__(self, values: Array, chunked: int, count: int, number: int) -> None:
        self.values, self.chunked, self.count, self.number = values, chunked, count, number
        self.varies = [stride != 0 for stride in values.strides[: chunked + 1]]
        self.held: tuple[object, ...] | None = None
        self.flat = values[:0].reshape(-1)

    @property
    def same_everywhere(self) -> bool:
        """Whether every block holds the same elements."""
        return not any(self.varies)

    def piece(self, index: tuple[int, ...], part: slice) -> Array:
        """The flat elements of one block; the first block is the longest."""
        at: tuple[Any, ...] = (*index, part)
        block = self.values[at]
        if block.flags.c_contiguous and block.flags.aligned:
            flat: Array = block.reshape(-1)
            return flat
        key = tuple(at for at, varies in zip((*index, part.start), self.varies, strict=True) if varies)
        if key != self.held:
            self.flat = scratch(self.number, block.size, block.dtype)
            np.copyto(self.flat.reshape(block.shape), block)
            self.held = key
        return self.flat[: block.size]


def operands(X: Sequence[Array], shape: tuple[int, ...], count: int) -> list[Operand]:
    """The operands of merged axes, ready to be walked."""
    chunked = _chunked(shape, count)
    return [Operand(np.broadcast_to(x, shape), chunked, count, FIRST_NUMBER + m) for m, x in enumerate(X)]


def merged(X: Sequence[Array], shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[Array]]:
    """The common shape with the fewest axes that all operands allow, and the operands with as many.

    Two neighbouring axes become one where every operand walks them as one, or stands still on both.
    """
    strides = [_strides(x, len(shape)) for x in X]
    kept: list[list[int]] = []
    last: list[int] | None = None
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        here = [each[axis] for each in strides]
        if last is not None and all(before == now * extent for before, now in zip(last, here, strict=True)):
            kept[-1].append(axis)
        else:
            kept.append([axis])
        last = here
    fewer = tuple([prod([shape[axis] for axis in axes]) for axes in kept])
    return fewer or (1,), [_with_axes(x, fewer, kept, each) for x, each in zip(X, strides, strict=True)]


def _strides(x: Array, rank: int) -> list[int]:
    own = [0 if extent == 1 else stride for extent, stride in zip(x.shape, x.strides, strict=True)]
    return [0] * (rank - x.ndim) + own


def _with_axes(x: Array, fewer: tuple[int, ...], kept: list[list[int]], strides: list[int]) -> Array:
    if 0 in x.strides:
        x = x[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in x.strides])]
    own = [1 if strides[axes[-1]] == 0 else extent for axes, extent in zip(kept, fewer, strict=True)]
    return x.reshape(own or (1,))


def _chunked(shape: tuple[int, ...], count: int) -> int:
    """The axis to cut: the ones after it fit into a block of `count` elements together."""
    axis, inner = len(shape) - 1, 1
    while axis > 0 and inner * shape[axis] <= count:
        inner *= shape[axis]
        axis -= 1
    return axis


def walk(made: Sequence[Operand], out: Array, count: int) -> Iterator[tuple[list[Array], Array]]:
    """The flat pieces of the operands and of the output, block by block.

    The walked axes turn fastest, so that what differs along the chunked one alone is brought to scratch once a piece.
    """
    chunked = made[0].chunked
    rows = max(1, count // max(1, prod(out.shape[chunked + 1 :])))
    for start in range(0, out.shape[chunked], rows):
        part = slice(start, start + rows)
        for index in np.ndindex(out.shape[:chunked]):
            yield [each.piece(index, part) for each in made], out[(*index, part)].reshape(-1)


# ------------------------------------------------------------------
# Memory that kernels use again and again: touching fresh memory costs more than a whole pass over it.


_own = threading.local()


def scratch(number: int, count: int, kind: np.dtype[Any]) -> Array:
    """A flat array of `count` elements; the same `number` means the same memory in the same thread."""
    held: dict[int, Array] | None = getattr(_own, "held", None)
    if held is None:
        held = _own.held = {}
    size = count * kind.itemsize
    found = held.get(number)
    if found is None or len(found) < size:
        found = held[number] = np.empty(max(size, 1 << 16), np.uint8)
    return found[:size].view(kind)
