"""What the pooling operators without a text of the profile share: where the windows lie, by the ONNX text.

auto_pad: NOTSET takes `pads`; VALID pads nothing; SAME_UPPER and SAME_LOWER pad so that there are ceil(extent / stride)
places, the odd element of padding at the end (UPPER) or at the beginning (LOWER).  ceil_mode rounds the number of
places up; a window that would begin in the padding at the end is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.semantics.application import Application
from sonnx.semantics.windows import Windows, windows
from sonnx.stops import NotExecutable
from sonnx.words import window


def windows_of(application: Application, shape: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows over the spatial axes of a tensor of this shape.

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
    pads = _derived(application.attribute("auto_pad", "NOTSET"), extents, spans, strides, pads)
    if any(e + b + a < s for e, b, a, s in zip(extents, pads[:axes], pads[axes:], spans, strict=True)):
        raise NotExecutable("the window is larger than the padded input")
    if application.attribute("ceil_mode", 0):
        for d in range(axes):
            rest = (extents[d] + pads[d] + pads[axes + d] - spans[d]) % strides[d]
            start = extents[d] + pads[d] + pads[axes + d] - spans[d] - rest + strides[d]
            if rest and start < extents[d] + pads[d]:
                pads[axes + d] += strides[d] - rest
    return windows(extents, kernel, strides, dilations, pads)


def _derived(
    how: str, extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], pads: list[int]
) -> list[int]:
    if how == "NOTSET":
        return pads
    if how == "VALID":
        return [0] * len(pads)
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise NotExecutable(f"auto_pad is {how!r}")
    whole = [max(0, (-(-e // s) - 1) * s + w - e) for e, w, s in zip(extents, spans, strides, strict=True)]
    less, more = [each // 2 for each in whole], [each - each // 2 for each in whole]
    return less + more if how == "SAME_UPPER" else more + less
