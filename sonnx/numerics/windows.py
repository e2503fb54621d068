"""A kernel that slides over the spatial axes: which elements of X stand under it at each place.

At the place m of axis d the element j of the kernel lies over X[m * strides[d] + j * dilations[d] - pads[d]]; where X
has no such element it lies over the padding.  Conv, ConvInteger and the pooling operators share this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sonnx.language.builtins import positions, window


@dataclass(frozen=True, slots=True)
class Windows:
    """The places of a kernel on the spatial axes; every list has one entry per axis, `ends` the padding behind."""

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """How many places there are on each axis."""
        return tuple(
            positions(extent + begin + end, window(size, dilation), stride)
            for extent, begin, end, size, dilation, stride in zip(
                self.extents, self.begins, self.ends, self.kernel, self.dilations, self.strides, strict=True
            )
        )

    def where(self, place: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """For each element of the kernel, in row-major order, the index it lies over, also outside X."""
        axes = [
            [m * stride + j * dilation - begin for j in range(size)]
            for m, stride, dilation, begin, size in zip(
                place, self.strides, self.dilations, self.begins, self.kernel, strict=True
            )
        ]
        return product(*axes)

    def under(self, place: Sequence[int]) -> Iterator[tuple[int, ...] | None]:
        """As `where`; None for padding."""
        for index in self.where(place):
            inside = all(0 <= i < extent for i, extent in zip(index, self.extents, strict=True))
            yield index if inside else None


def windows(
    extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> Windows:
    """The windows of an operator's attributes: `pads` has all beginnings, then all ends."""
    count = len(extents)
    parts = (extents, kernel, strides, dilations, pads[:count], pads[count:])
    return Windows(*[tuple(part) for part in parts])
