"""Patches (im2col): what stands under a kernel at each of its places, as columns of float64 matrices, one per group.

Blocks of places are made one after another, so that one block at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.numerics.scratch import Scratch
from sonnx.numerics.windows import Windows

PATCH_ELEMENTS = 1 << 20
"""Elements of a block of patches."""

_PADDED, _COLUMNS = Scratch(), Scratch()

DOUBLE = np.dtype(np.float64)


class Patches:
    """The patches of one sample at a time.

    Args:
        slid: the places of the kernel.
        channels: of the sample.
        group: how many groups the channels form.
        ones: add a row of ones to each matrix, for a bias.
    """

    def __init__(self, slid: Windows, channels: int, group: int, ones: bool) -> None:
        self.slid, self.group, self.ones = slid, group, ones
        self.each = channels // group
        extents = zip(slid.extents, slid.begins, slid.ends, strict=True)
        self.padded = tuple(extent + begin + end for extent, begin, end in extents)
        self.height = self.each * prod(slid.kernel) + ones
        self.pointwise = prod(slid.kernel) == 1 and set(slid.strides) == {1} and not any((*slid.begins, *slid.ends))

    def blocks(self, sample: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of places: which ones along the first spatial axis, the matrices, and the norms of their columns.

        Args:
            sample: (channels, spatial axes), of a type that float64 holds.

        Yields:
            A slice of the first axis of places; (groups, height, places) in float64; (groups, places).
        """
        padded = self._padded(sample)
        squares = np.einsum("gi...,gi...->g...", padded, padded)
        places, inner = self.slid.places, prod(self.slid.places[1:])
        step = max(1, PATCH_ELEMENTS // max(1, self.group * self.height * inner))
        sums = sums_under(squares, self.slid) if self.each else np.zeros((self.group, *places))
        under, norms = self._under(padded), np.sqrt(sums + self.ones)
        for start in range(0, places[0], step):
            part = slice(start, min(start + step, places[0]))
            count = (part.stop - start) * inner
            yield part, self._columns(padded, under, part, count), norms[:, part].reshape(self.group, count)

    def _padded(self, sample: Array) -> Array:
        """The sample with its padding: (groups, channels of a group, spatial axes)."""
        shape = (self.group, self.each, *self.padded)
        made = _PADDED.array(prod(shape), DOUBLE).reshape(shape)
        inside = tuple(
            slice(begin, begin + extent) for begin, extent in zip(self.slid.begins, self.slid.extents, strict=True)
        )
        if self.padded != self.slid.extents:
            made[...] = 0
        made[(slice(None), slice(None), *inside)] = sample.reshape(shape[:2] + sample.shape[1:])
        return made

    def _under(self, padded: Array) -> Array:
        """A view: (groups, channels, kernel axes, axes of places)."""
        slid, steps = self.slid, padded.strides[2:]
        kernel = tuple(s * d for s, d in zip(steps, slid.dilations, strict=True))
        moves = tuple(s * d for s, d in zip(steps, slid.strides, strict=True))
        shape = (*padded.shape[:2], *slid.kernel, *slid.places)
        return np.lib.stride_tricks.as_strided(padded, shape, (*padded.strides[:2], *kernel, *moves), writeable=False)

    def _columns(self, padded: Array, under: Array, part: slice, count: int) -> Array:
        if self.pointwise and not self.ones:
            flat = padded[:, :, part]
            return flat.reshape(self.group, self.height, count)
        made = _COLUMNS.array(self.group * self.height * count, DOUBLE).reshape(self.group, self.height, count)
        block = under[(slice(None),) * (2 + len(self.slid.kernel)) + (part,)]
        target = made[:, : self.height - self.ones].reshape(block.shape)
        np.copyto(target, block)
        if self.ones:
            made[:, -1] = 1
        return made


def sums_under(padded: Array, slid: Windows) -> Array:
    """The sums under the kernel at each place: of (stack, spatial axes), (stack, places); one axis after another.

    No element goes through more additions than the axes of the kernel have elements together.
    """
    made = padded
    axes = zip(slid.kernel, slid.strides, slid.dilations, slid.places, strict=True)
    for axis, (size, stride, dilation, count) in enumerate(axes, start=1):
        before, whole = (slice(None),) * axis, (count - 1) * stride + 1
        views = [made[(*before, slice(j, j + whole, stride))] for j in range(0, size * dilation, dilation)]
        made = views[0] if size == 1 else views[0] + views[1]
        for view in views[2:]:
            made += view
    return made
