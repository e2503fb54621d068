"""Patches (im2col): what stands under a kernel at each of its places, as columns of float64 matrices, one per group.

Blocks of places are made one after another, so that one block at a time is in memory.  Where many elements stand under
a kernel, what its rows cover is written once: the rows of a block of places lie one after another, so that the elements
under row i of the kernel are a part of the block that begins i rows later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.formats import Array
from sonnx.numerics.scratch import Scratch
from sonnx.numerics.single_products import PART, Norms, Right
from sonnx.numerics.windows import Windows

PATCH_ELEMENTS, PRODUCT_ELEMENTS = 1 << 19, 1 << 18
"""Elements of a block of patches, and of what is made of it."""

_PADDED, _COLUMNS = Scratch(), Scratch()

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class WindowPatches:
    """The patches of one sample at a time.

    Args:
        slid: the places of the kernel.
        channels: of the sample.
        group: how many groups the channels form.
        kernels: how many products are made of each patch, in all groups.
        block: the size of blocks.
    """

    def __init__(self, slid: Windows, channels: int, group: int, kernels: int, block: BlockSize = usual_size) -> None:
        self.slid, self.group, self.each, self.block = slid, group, channels // group, block
        self.height = self.each * prod(slid.kernel)
        self.rows = slid.kernel[0] if self.height > PART else 1
        """The rows of the kernel that are a piece of the matrices each; 1 where all are in one."""
        stride, gap = slid.strides[0], slid.dilations[0]
        self.starts = [divmod(i * gap, stride) for i in range(self.rows)]
        """For each of these rows, by how many places it is shifted, and the rest in rows of X."""
        self.rests = 1 + max(rest for _, rest in self.starts)
        padded = [sum(own) for own in zip(slid.extents, slid.begins, slid.ends, strict=True)]
        padded[0] = max(padded[0], stride * (slid.places[0] - 1 + self.starts[-1][0]) + self.rests)  # all that is read
        self.padded = tuple(padded)
        self.sample = np.empty(0)
        inner = prod(slid.places[1:])
        height = self.rests * self.height // self.rows * group
        most = min(block(PATCH_ELEMENTS) // max(1, height), block(PRODUCT_ELEMENTS) // max(1, kernels))
        self.step = max(1, most // max(1, inner))

    def blocks(self, sample: Array) -> Iterator[tuple[slice, Right]]:
        """Blocks of places: which ones, in row-major order, and the matrices.

        Args:
            sample: (channels, spatial axes), of a type that float64 holds.
        """
        self.sample = self._padded(sample)
        rows, inner = self.slid.places[0], prod(self.slid.places[1:])
        for start in range(0, rows, self.step):
            count = min(self.step, rows - start)
            yield slice(start * inner, (start + count) * inner), self._block(self.sample, start, count, inner)

    def kernels(self, W: Array) -> Array:
        """The kernels as rows, their elements in the order of the patches, in float64: (groups, kernels, elements)."""
        array = W.reshape(self.group, len(W) // self.group, self.each, self.rows, prod(self.slid.kernel) // self.rows)
        return array.swapaxes(2, 3).astype(DOUBLE, order="C").reshape(*array.shape[:2], prod(array.shape[2:]))

    def _padded(self, sample: Array) -> Array:
        """The sample with its padding: (groups, channels of a group, spatial axes)."""
        shape = (self.group, self.each, *self.padded)
        kind = SINGLE if sample.dtype.itemsize < DOUBLE.itemsize and sample.dtype.kind not in "iu" else DOUBLE
        if self.padded == self.slid.extents and sample.dtype == kind and sample.flags.c_contiguous:
            return sample.reshape(shape)
        array = _PADDED.array(prod(shape), kind).reshape(shape)
        inside = tuple(
            slice(begin, begin + extent) for begin, extent in zip(self.slid.begins, self.slid.extents, strict=True)
        )
        if self.padded != self.slid.extents:
            array[...] = 0
        array[(slice(None), slice(None), *inside)] = sample.reshape(shape[:2] + sample.shape[1:])
        return array

    def _block(self, padded: Array, start: int, count: int, inner: int) -> Right:
        """The matrices of `count` rows of places."""
        slid, steps = self.slid, padded.strides[2:]
        kernel = tuple(s * d for s, d in zip(steps, slid.dilations, strict=True))
        moves = tuple(s * d for s, d in zip(steps, slid.strides, strict=True))
        places = slid.places[1:]
        if self.rows == 1:
            shape = (*padded.shape[:2], *slid.kernel, 1, count, *places)
            strides = (*padded.strides[:2], *kernel, 0, *moves)
        else:
            shape = (*padded.shape[:2], *slid.kernel[1:], self.rests, count + self.starts[-1][0], *places)
            strides = (*padded.strides[:2], *kernel[1:], steps[0], *moves)
        under = np.lib.stride_tricks.as_strided(
            padded[:, :, start * slid.strides[0] :], shape, strides, writeable=False
        )
        array = _COLUMNS.array(prod(shape), DOUBLE).reshape(shape)
        np.copyto(array, under)
        array = array.reshape(
            self.group, self.height // self.rows, shape[-2 - len(places)], shape[-1 - len(places)] * inner
        )
        pieces = [array[:, :, rest, shift * inner : (shift + count) * inner] for shift, rest in self.starts]
        norms = Norms(self._norms(padded, start, count))
        return Right(pieces, norms, lambda s, j: self.columns(s, start * inner + j))

    def _norms(self, padded: Array, start: int, count: int) -> Array:
        """The norms of the columns of these rows of places: (groups, places).

        An element stands under the kernel at many places: its square is added to those of the other channels once.
        Every addend is positive, so the order of additions matters no more than in a sum of the column.
        """
        slid, stride = self.slid, self.slid.strides[0]
        read = (count - 1) * stride + (slid.kernel[0] - 1) * slid.dilations[0] + 1
        part = padded[:, :, start * stride : start * stride + read]
        squares = np.einsum("gc...,gc...->g...", part, part, dtype=DOUBLE)
        sums = sums_under(squares, slid, (count, *slid.places[1:]))
        return np.sqrt(sums.reshape(self.group, -1))

    def columns(self, s: Array, j: Array) -> Array:
        """The patches of these groups at these places, as rows; of the sample whose blocks were made last."""
        slid, padded = self.slid, self.sample
        steps = [stride // padded.itemsize for stride in padded.strides]
        places = np.unravel_index(j, slid.places)
        at = s * steps[0] + sum(m * d * step for m, d, step in zip(places, slid.strides, steps[2:], strict=True))
        axes = [
            np.arange(size) * (d * step) for size, d, step in zip(slid.kernel, slid.dilations, steps[2:], strict=True)
        ]
        channels = np.arange(self.each) * steps[1]
        order = [channels, *axes] if self.rows == 1 else [axes[0], channels, *axes[1:]]
        offsets = sum_of_axes(order)
        array: Array = padded.reshape(-1)[at[:, None] + offsets]
        return array


def sum_of_axes(axes: Sequence[Array]) -> Array:
    """The sums of one element of each array, in row-major order."""
    array: Array = axes[0]
    for axis in axes[1:]:
        array = np.add.outer(array, axis).reshape(-1)
    return array


def sums_under(padded: Array, slid: Windows, places: Sequence[int] | None = None) -> Array:
    """The sums under the kernel at each place: of (stack, spatial axes), (stack, places); one axis after another.

    `places` are the first ones on each axis, all without it.
    No element goes through more additions than the axes of the kernel have elements together.
    """
    array = padded
    axes = zip(slid.kernel, slid.strides, slid.dilations, places or slid.places, strict=True)
    for axis, (size, stride, dilation, count) in enumerate(axes, start=1):
        before, whole = (slice(None),) * axis, (count - 1) * stride + 1
        views = [array[(*before, slice(j, j + whole, stride))] for j in range(0, size * dilation, dilation)]
        array = views[0] if size == 1 else views[0] + views[1]
        for view in views[2:]:
            array += view
    return array
