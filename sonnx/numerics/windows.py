"""Sliding windows: which elements of X stand under a kernel at each of its places on the spatial axes.

At the place m of axis d the element j of the kernel lies over X[m * strides[d] + j * dilations[d] - pads[d]]; where X
has no such element it lies over the padding.  Conv, ConvInteger and the pooling operators share this.

auto_pad and ceil_mode, by the ONNX text: NOTSET takes `pads`; VALID pads nothing; SAME_UPPER and SAME_LOWER pad so that
there are ceil(extent / stride) places, the odd element of padding at the end (UPPER) or at the beginning (LOWER).
ceil_mode rounds the number of places up; a window that would begin in the padding at the end is left out.  The profile
has neither; `explicit_padding` gives the `pads` that a node with them could state instead, so that the shapes and rules
of the profile apply to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sonnx.base.errors import NotExecutable
from sonnx.language.builtins import positions
from sonnx.language.builtins import window as window  # noqa: PLC0414  operators take it from here
from sonnx.language.shape_arithmetic import odd_at_beginning, odd_at_end, padding
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application


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


def stated_windows(application: Application, shape: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows over the spatial axes of a tensor of this shape, for an operator without a data file.

    Raises:
        NotExecutable: an attribute has the wrong length, or a window does not fit.
    """
    extents, axes = shape[2:], len(shape) - 2
    strides = application.numbers("strides", axes)
    dilations = application.numbers("dilations", axes)
    pads = list(application.numbers("pads", 2 * axes))
    if axes < 1 or {len(kernel), len(strides), len(dilations), len(pads) // 2} != {axes} or len(pads) % 2:
        raise NotExecutable(f"kernel_shape, strides, dilations or pads does not fit {axes} spatial axes")
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0:
        raise NotExecutable("kernel_shape, strides or dilations has a number below 1, or pads one below 0")
    spans = [window(size, dilation) for size, dilation in zip(kernel, dilations, strict=True)]
    how = application.parameter("auto_pad")
    pads = _derived(how, extents, spans, strides, pads)
    if any(e + b + a < s for e, b, a, s in zip(extents, pads[:axes], pads[axes:], spans, strict=True)):
        raise NotExecutable("the window is larger than the padded input")
    if application.parameter("ceil_mode"):
        pads = _rounded_up(how, extents, spans, strides, pads)
    return windows(extents, kernel, strides, dilations, pads)


def explicit_padding(names: Mapping[str, Any]) -> tuple[Attribute, ...]:
    """The attributes with which a node has the same windows without auto_pad and ceil_mode.

    Args:
        names: X and the parameters by their effective values, all known.

    Returns:
        Those that change; none where the node uses neither, or where lengths or numbers do not fit, which rules report.

    Raises:
        NotExecutable: auto_pad has an unknown value.
    """
    how, up = names["auto_pad"], names.get("ceil_mode", 0)
    extents, kernel, strides = names["X"].shape[2:], names["kernel_shape"], names["strides"]
    dilations, pads = names.get("dilations", (1,) * len(kernel)), list(names["pads"])
    fits = {len(kernel), len(strides), len(dilations), len(pads) / 2} == {len(extents)}
    if (how == "NOTSET" and not up) or up not in (0, 1) or not fits or min((*strides, *dilations), default=0) < 1:
        return ()
    spans = [window(size, dilation) for size, dilation in zip(kernel, dilations, strict=True)]
    pads = _derived(how, extents, spans, strides, pads)
    attributes = [Attribute("auto_pad", "string", "NOTSET")]
    if up:
        pads = _rounded_up(how, extents, spans, strides, pads)
        attributes.append(Attribute("ceil_mode", "int", 0))
    return (*attributes, Attribute("pads", "ints", tuple(pads)))


def _derived(
    how: str, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], pads: list[int]
) -> list[int]:
    if how == "NOTSET":
        return pads
    if how == "VALID":
        return [0] * len(pads)
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise NotExecutable(f"auto_pad is {how!r}, none of NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    totals = [padding(*row) for row in zip(extents, spans, strides, strict=True)]
    begins = list(map(odd_at_end if how == "SAME_UPPER" else odd_at_beginning, totals))
    return begins + [total - begin for total, begin in zip(totals, begins, strict=True)]


def _rounded_up(
    how: str, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], pads: list[int]
) -> list[int]:
    """The padding with which the last, incomplete windows fit.

    Raises:
        NotExecutable: VALID, where the number of places in the ONNX text is that of ceil_mode = 0 and in ONNX's own
            shape inference is not.
    """
    numbers, axes = list(pads), len(extents)
    for d in range(axes):
        room = extents[d] + pads[d] + pads[axes + d] - spans[d]
        rest = room % strides[d]
        if room >= 0 and rest and room - rest + strides[d] < extents[d] + pads[d]:
            numbers[axes + d] += strides[d] - rest
    if how == "VALID" and numbers != pads:
        raise NotExecutable("auto_pad is VALID and ceil_mode 1: ONNX's text and its shape inference differ")
    return numbers
