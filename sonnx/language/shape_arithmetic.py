"""Integer functions that rewrites of models use: padding that auto_pad derives, bounds of Slice inside their axes.

The theorems of `proofs/rewrites.py` are about these functions.  They are not in `sonnx/rewriter/`, because the prover
must not import it.
"""

from __future__ import annotations

from sonnx.language.builtins import Undefined, clamped, from_first


def padding(extent: int, width: int, stride: int) -> int:
    """The elements auto_pad adds to an axis so that windows take ceil(extent / stride) places (ONNX Conv, auto_pad)."""
    if stride < 1:
        raise Undefined("the stride is not positive")
    places = (extent + stride - 1) // stride
    needed = (places - 1) * stride + width - extent
    return needed if needed > 0 else 0


def odd_at_end(total: int) -> int:
    """The padding at the beginning of an axis under SAME_UPPER."""
    return total // 2


def odd_at_beginning(total: int) -> int:
    """The padding at the beginning of an axis under SAME_LOWER."""
    return total - total // 2


def start_in_axis(start: int, extent: int, step: int) -> int:
    """A start of Slice brought into its axis, counted from the first element."""
    if step > 0:
        return clamped(from_first(start, extent), 0, extent)
    return clamped(from_first(start, extent), 0, extent - 1)


def end_in_axis(end: int, extent: int, step: int) -> int:
    """An end of Slice brought into its axis; the one before the first element is written as -extent - 1."""
    if step > 0:
        return clamped(from_first(end, extent), 0, extent)
    if clamped(from_first(end, extent), -1, extent - 1) == -1:
        return -extent - 1
    return clamped(from_first(end, extent), -1, extent - 1)
