"""Blocks: cutting arrays into pieces that stay in the cache while several passes go over them.

Operands of one element, a bias along an axis, and views with any strides are brought into a flat piece of scratch
memory.  An operand that is the same in every block is brought there once: numpy has no vector code for stride 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.scratch import scratch

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
        block = self.values[(*index, part)]
        if block.flags.c_contiguous and block.flags.aligned:
            return block.reshape(-1)
        key = tuple(at for at, varies in zip((*index, part.start), self.varies, strict=True) if varies)
        if key != self.held:
            self.flat = scratch(self.number, block.size, block.dtype)
            np.copyto(self.flat.reshape(block.shape), block)
            self.held = key
        return self.flat[: block.size]


def operands(X: Sequence[Array], out: Array, count: int) -> tuple[list[Operand], Array]:  # noqa: N803
    """The operands and the output, brought to the fewest axes that all of them allow."""
    shape = out.shape
    Z = [np.broadcast_to(x, shape) for x in X]  # noqa: N806
    fewer = _merged(shape, [z.strides for z in Z])
    chunked = _chunked(fewer, count)
    made = [Operand(z.reshape(fewer), chunked, count, FIRST_NUMBER + m) for m, z in enumerate(Z)]
    return made, out.reshape(fewer)


def _merged(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape with every two neighbouring axes made one that all operands walk as one."""
    kept: list[int] = []
    last: list[int] = []
    for axis, extent in enumerate(shape):
        here = [each[axis] for each in strides]
        if extent == 1:
            continue
        if kept and all(before == now * extent for before, now in zip(last, here, strict=True)):
            kept[-1] *= extent
        else:
            kept.append(extent)
        last = here
    return tuple(kept) or (1,)


def _chunked(shape: tuple[int, ...], count: int) -> int:
    """The axis to cut: the ones after it fit into a block of `count` elements together."""
    axis, inner = len(shape) - 1, 1
    while axis > 0 and inner * shape[axis] <= count:
        inner *= shape[axis]
        axis -= 1
    return axis


def walk(made: Sequence[Operand], out: Array, count: int) -> Iterator[tuple[list[Array], Array]]:
    """The flat pieces of the operands and of the output, block by block."""
    chunked = made[0].chunked
    rows = max(1, count // max(1, prod(out.shape[chunked + 1 :])))
    for index in np.ndindex(out.shape[:chunked]):
        for start in range(0, out.shape[chunked], rows):
            part = slice(start, start + rows)
            yield [each.piece(index, part) for each in made], out[(*index, part)].reshape(-1)
