"""The patches of a tensor under a sliding kernel, as columns of matrices, and the transposed map.

A tensor (N, C, spatial axes) becomes (N, C, kernel elements, places); padding is 0 or what the caller names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

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
        return [X[(slice(None), slice(None), *at)] for at in self._under()]

    def _padded(self, X: Array, padding: float) -> Array:
        widths = [(0, 0), (0, 0), *zip(self.slid.begins, self.slid.ends, strict=True)]
        return np.pad(X, widths, constant_values=padding) if any(map(any, widths)) else X

    def _under(self) -> Iterator[tuple[slice, ...]]:
        """Where each element of the kernel lies on the padded axes."""
        for offsets in product(*[range(size) for size in self.slid.kernel]):
            yield tuple(
                slice(j * d, j * d + (count - 1) * s + 1, s)
                for j, d, s, count in zip(offsets, self.slid.dilations, self.slid.strides, self.places, strict=True)
            )

    def scattered(self, columns: Array) -> Array:
        """The transposed map: (..., kernel elements, places) to (..., spatial axes), summed over an element."""
        slid, lead = self.slid, columns.shape[:-2]
        padded = tuple(e + b + a for e, b, a in zip(slid.extents, slid.begins, slid.ends, strict=True))
        made = np.zeros((*lead, *padded))
        parts = columns.reshape(*lead, self.size, *self.places)
        front: tuple[Any, ...] = (slice(None),) * len(lead)
        for number, at in enumerate(self._under()):
            made[front + at] += parts[(*front, number)]
        inside = tuple(slice(b, b + e) for b, e in zip(slid.begins, slid.extents, strict=True))
        found: Array = made[front + inside]
        return found
