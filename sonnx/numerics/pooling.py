"""Where the windows of Conv and of the pooling operators lie, by the ONNX text.

auto_pad: NOTSET takes `pads`; VALID pads nothing; SAME_UPPER and SAME_LOWER pad so that there are ceil(extent / stride)
places, the odd element of padding at the end (UPPER) or at the beginning (LOWER).  ceil_mode rounds the number of
places up; a window that would begin in the padding at the end is left out.  The profile has neither; `written_out` says
what a node that uses them would write in `pads`, so that the shapes and rules of the profile apply to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sonnx.base.errors import NotExecutable
from sonnx.language.builtins import window
from sonnx.language.shape_arithmetic import odd_at_beginning, odd_at_end, padding
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.windows import Windows, windows


def windows_of(application: Application, shape: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows over the spatial axes of a tensor of this shape, for an operator without a data file.

    Raises:
        NotExecutable: an attribute has the wrong length, or a window does not fit.
    """
    extents, axes = shape[2:], len(shape) - 2
    strides = application.attribute("strides", [1] * axes)
    dilations = application.attribute("dilations", [1] * axes)
    pads = list(application.attribute("pads", [0] * 2 * axes))
    if axes < 1 or {len(kernel), len(strides), len(dilations), len(pads) // 2} != {axes} or len(pads) % 2:
        raise NotExecutable(f"kernel_shape, strides, dilations or pads does not fit {axes} spatial axes")
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0:
        raise NotExecutable("kernel_shape, strides or dilations has a number below 1, or pads one below 0")
    spans = [window(size, dilation) for size, dilation in zip(kernel, dilations, strict=True)]
    how = application.attribute("auto_pad", "NOTSET")
    pads = _derived(how, extents, spans, strides, pads)
    if any(e + b + a < s for e, b, a, s in zip(extents, pads[:axes], pads[axes:], spans, strict=True)):
        raise NotExecutable("the window is larger than the padded input")
    if application.attribute("ceil_mode", 0):
        pads = _rounded_up(how, extents, spans, strides, pads)
    return windows(extents, kernel, strides, dilations, pads)


def written_out(names: Mapping[str, Any]) -> tuple[Attribute, ...]:
    """The attributes with which a node says without auto_pad and ceil_mode what it says with them.

    Args:
        names: X and the parameters by their effective values, all known.

    Returns:
        Those that change; none where the node uses neither, or where lengths or numbers do not fit, which rules say.

    Raises:
        NotExecutable: auto_pad has no meaning.
    """
    how, up = names["auto_pad"], names.get("ceil_mode", 0)
    extents, kernel, strides = names["X"].shape[2:], names["kernel_shape"], names["strides"]
    dilations, pads = names.get("dilations", (1,) * len(kernel)), list(names["pads"])
    fits = {len(kernel), len(strides), len(dilations), len(pads) / 2} == {len(extents)}
    if (how == "NOTSET" and not up) or up not in (0, 1) or not fits or min((*strides, *dilations), default=0) < 1:
        return ()
    spans = [window(size, dilation) for size, dilation in zip(kernel, dilations, strict=True)]
    pads = _derived(how, extents, spans, strides, pads)
    made = [Attribute("auto_pad", "string", "NOTSET")]
    if up:
        pads = _rounded_up(how, extents, spans, strides, pads)
        made.append(Attribute("ceil_mode", "int", 0))
    return (*made, Attribute("pads", "ints", tuple(pads)))


def _derived(
    how: str, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], pads: list[int]
) -> list[int]:
    if how == "NOTSET":
        return pads
    if how == "VALID":
        return [0] * len(pads)
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise NotExecutable(f"auto_pad is {how!r}, none of NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    whole = [padding(*each) for each in zip(extents, spans, strides, strict=True)]
    begins = list(map(odd_at_end if how == "SAME_UPPER" else odd_at_beginning, whole))
    return begins + [total - begin for total, begin in zip(whole, begins, strict=True)]


def _rounded_up(
    how: str, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], pads: list[int]
) -> list[int]:
    """The padding with which the last, incomplete windows fit.

    Raises:
        NotExecutable: VALID, where the number of places in the ONNX text is that of ceil_mode = 0 and in ONNX's own
            shape inference is not.
    """
    made, axes = list(pads), len(extents)
    for d in range(axes):
        room = extents[d] + pads[d] + pads[axes + d] - spans[d]
        rest = room % strides[d]
        if room >= 0 and rest and room - rest + strides[d] < extents[d] + pads[d]:
            made[axes + d] += strides[d] - rest
    if how == "VALID" and made != pads:
        raise NotExecutable("auto_pad is VALID and ceil_mode 1: ONNX's text and its shape inference differ")
    return made
