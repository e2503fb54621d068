"""The patches of a tensor under a sliding kernel, as columns of matrices, and the transposed map.

A tensor (N, C, spatial axes) becomes (N, C, kernel elements, places); padding is 0 or what the caller names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sonnx.numerics.enclosures.values import Neighbourhood
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import Windows


@dataclass(frozen=True)
class Patches:
    """Where a kernel lies over the spatial axes of a tensor."""

    slid: Windows
    first: tuple[int, ...] = ()
    """How many of the places on each axis count, from the first; () for all."""

    @property
    def size(self) -> int:
        """The elements of the kernel."""
        return prod(self.slid.kernel)

    @property
    def neighbourhood(self) -> Neighbourhood:
        """Which places of the tensor an element of the output depends on."""
        first = tuple(-begin for begin in self.slid.begins)
        last = tuple(
            start + (size - 1) * dilation
            for start, size, dilation in zip(first, self.slid.kernel, self.slid.dilations, strict=True)
        )
        return Neighbourhood(self.slid.strides, first, last)

    @property
    def places(self) -> tuple[int, ...]:
        """The extents of the output."""
        return self.first or self.slid.places

    def columns(self, X: Array, padding: float = 0.0) -> Array:
        """(N, C, spatial axes) to (N, C, kernel elements, places)."""
        slid, X = self.slid, self._padded(X, padding)
        steps = X.strides[2:]
        kernel = tuple(s * d for s, d in zip(steps, slid.dilations, strict=True))
        moves = tuple(s * d for s, d in zip(steps, slid.strides, strict=True))
        shape = (*X.shape[:2], *slid.kernel, *self.places)
        view = np.lib.stride_tricks.as_strided(X, shape, (*X.strides[:2], *kernel, *moves), writeable=False)
        return view.reshape(*X.shape[:2], self.size, prod(self.places))

    def views(self, X: Array, padding: float = 0.0) -> list[Array]:
        """For each element of the kernel what it lies over, (N, C, places)."""
        X = self._padded(X, padding)
        return [X[at] for at in self._under()]

    def _padded(self, X: Array, padding: float) -> Array:
        widths = [(0, 0), (0, 0), *zip(self.slid.begins, self.slid.ends, strict=True)]
        return np.pad(X, widths, constant_values=padding) if any(map(any, widths)) else X

    def _under(self) -> Iterator[tuple[Any, ...]]:
        """Where each element of the kernel lies on the padded axes, the last ones."""
        for offsets in product(*[range(size) for size in self.slid.kernel]):
            yield (
                ...,
                *(
                    slice(j * d, j * d + (count - 1) * s + 1, s)
                    for j, d, s, count in zip(offsets, self.slid.dilations, self.slid.strides, self.places, strict=True)
                ),
            )

    def scattered(self, columns: Array) -> Array:
        """The transposed map: (..., kernel elements, places) to (..., spatial axes), summed over an element."""
        lead = columns.shape[:-2]
        parts = np.moveaxis(columns.reshape(*lead, self.size, *self.places), len(lead), 0)
        return self.laid(parts, lead)

    def laid(self, parts: Iterable[Array], lead: Sequence[int]) -> Array:
        """As `scattered`, of a part (lead, places) for each element of the kernel: only one need be in memory."""
        array, inside = self._widened((*lead, *self.slid.extents), np.float64)
        for at, part in zip(self._under(), parts, strict=True):
            array[at] += part
        return np.asarray(array[inside])

    def covered(self, marks: Array) -> Array:
        """Of truth values (N, C, places) those of (N, C, spatial axes) that a kernel at a marked place lies over."""
        array, inside = self._widened((*marks.shape[:2], *self.slid.extents), np.bool_)
        for at in self._under():
            array[at] |= marks
        return np.asarray(array[inside])

    def _widened(self, shape: Sequence[int], kind: type) -> tuple[Array, tuple[Any, ...]]:
        """Zeros for an array with its padding, and where the array is in it."""
        slid, lead = self.slid, len(shape) - len(self.slid.extents)
        padded = tuple(e + b + a for e, b, a in zip(slid.extents, slid.begins, slid.ends, strict=True))
        inside = tuple(slice(b, b + e) for b, e in zip(slid.begins, slid.extents, strict=True))
        return np.zeros((*shape[:lead], *padded), kind), (..., *inside)
