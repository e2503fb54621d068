"""Blocks: broadcast operands cut into pieces that stay in the cache while several passes go over them.

Operands of one element, a bias along an axis, and views with any strides are copied into a flat piece of scratch
memory.  An operand that is the same in every block is copied once: numpy has no vector code for stride 0.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.numerics.scratch import Scratch

BLOCK_ELEMENTS = 1 << 16
"""Elements of a block: larger ones leave the second-level cache, smaller ones pay for numpy's calls."""

BlockSize: TypeAlias = Callable[[int], int]
"""The number of elements to work on at a time, at least 1, where this many are usual; no value depends on it."""


def usual_size(elements: int) -> int:
    """The usual number itself."""
    return elements


class _Free(threading.local):
    """The scratch memory that no walk of this thread uses at the moment."""

    def __init__(self) -> None:
        self.scratches: list[Scratch] = []


_FREE = _Free()


class Operand:
    """One operand, broadcast to the common shape, as flat pieces.

    Axes before `chunked` are walked one index at a time, axis `chunked` in pieces; the axes after it are whole.
    """

    def __init__(self, values: Array, chunked: int, scratch: Scratch) -> None:
        self.values, self.chunked, self.scratch = values, chunked, scratch
        self.varies = [stride != 0 for stride in values.strides[: chunked + 1]]
        self.held: tuple[object, ...] | None = None
        self.flat = values[:0].reshape(-1)

    def piece(self, index: tuple[int, ...], part: slice) -> Array:
        """The flat elements of one block; the first block is the longest."""
        at: tuple[Any, ...] = (*index, part)
        block = self.values[at]
        if block.flags.c_contiguous and block.flags.aligned:
            flat: Array = block.reshape(-1)
            return flat
        key = tuple(at for at, varies in zip((*index, part.start), self.varies, strict=True) if varies)
        if key != self.held:
            self.flat = self.scratch.array(block.size, block.dtype)
            np.copyto(self.flat.reshape(block.shape), block)
            self.held = key
        return self.flat[: block.size]


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
        here = [stride[axis] for stride in strides]
        if last is not None and all(before == now * extent for before, now in zip(last, here, strict=True)):
            kept[-1].append(axis)
        else:
            kept.append([axis])
        last = here
    fewer = tuple([prod([shape[axis] for axis in axes]) for axes in kept])
    return fewer or (1,), [_with_axes(x, fewer, kept, stride) for x, stride in zip(X, strides, strict=True)]


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


def block_pieces(X: Sequence[Array], out: Array, count: int) -> Iterator[tuple[list[Array], Array]]:
    """The flat pieces of operands of merged axes and of the output, block by block; a piece is valid for its block.

    The walked axes turn fastest, so that what differs along the chunked one alone is copied once a piece.
    """
    chunked, free = _chunked(out.shape, count), _FREE.scratches
    rows = max(1, count // max(1, prod(out.shape[chunked + 1 :])))
    borrowed = [free.pop() if free else Scratch() for _ in X]
    operands = [Operand(np.broadcast_to(x, out.shape), chunked, own) for x, own in zip(X, borrowed, strict=True)]
    try:
        for start in range(0, out.shape[chunked], rows):
            part = slice(start, start + rows)
            for index in np.ndindex(out.shape[:chunked]):
                yield [operand.piece(index, part) for operand in operands], out[(*index, part)].reshape(-1)
    finally:
        free.extend(reversed(borrowed))
