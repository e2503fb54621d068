"""The built-in functions of the rule language: one short function on integers and lists for each sentence of a text.

The checker and the executor call these functions; the prover and the documentation read the same source.  A body
consists of `if`, `return`, `raise Undefined`, `reduce` and expressions of the rule language (docs/rule-language.md),
and calls only functions defined above it.
"""

from __future__ import annotations

from functools import reduce


class Undefined(Exception):
    """The text defines no value; the message says why."""


def join(a: int, b: int) -> int:
    """The common extent of two aligned axes (NumPy broadcasting; ONNX Broadcasting.md)."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    raise Undefined("the two extents differ and neither is 1")


def agreed(least: int, most: int) -> int:
    """The number between two bounds: a text rounds a product and does not say in which format (ONNX Resize)."""
    if least == most:
        return least
    raise Undefined("it depends on how the product is rounded, which no text says")


def aligned(shape: list[int], k: int) -> int:
    """The extent of axis k counted from the last; one that the shape does not have is 1 (Broadcast: leading ones)."""
    return shape[len(shape) - 1 - k] if k < len(shape) else 1


def along(shapes: list[list[int]], k: int) -> list[int]:
    """The extents of all shapes on axis k counted from the last."""
    return [aligned(shape, k) for shape in shapes]


def widest(shapes: list[list[int]]) -> int:
    """The largest rank: nY = max nX_m."""
    return max([len(shape) for shape in shapes])


def agree(extents: list[int], common: int) -> bool:
    """RI on one axis: each extent is the common one or 1 (SONNX Max, first edition)."""
    return all(extent == common or extent == 1 for extent in extents)


def broadcastable(shapes: list[list[int]]) -> bool:
    """Not E1: on every axis, counted from the last, each extent is the largest one or 1.

    SONNX Max, second edition, E1; first edition, RI, RJ, …; Broadcast, E1.
    """
    return all(agree(along(shapes, k), max(along(shapes, k))) for k in range(widest(shapes)))


def alike(numbers: list[int]) -> bool:
    """All numbers are equal."""
    return all(number == numbers[0] for number in numbers)


def stretched(extents: list[int]) -> list[int]:
    """The extents that are not 1."""
    return [extent for extent in extents if extent != 1]


def onnx_broadcastable(shapes: list[list[int]]) -> bool:
    """On every axis, counted from the last, the extents that are not 1 are equal (ONNX Broadcasting.md, NumPy)."""
    return all(alike(stretched(along(shapes, k))) for k in range(widest(shapes)))


def broadcast(shapes: list[list[int]]) -> list[int]:
    """The shape all inputs are brought to: on every axis the join of the extents."""
    return [reduce(join, along(shapes, widest(shapes) - 1 - i), 1) for i in range(widest(shapes))]


def normal(axis: int, rank: int) -> int:
    """An axis of [-rank, rank - 1] counted from the first."""
    if 0 <= axis < rank:
        return axis
    if -rank <= axis < 0:
        return axis + rank
    raise Undefined("the axis is outside [-rank, rank - 1]")


def from_first(index: int, extent: int) -> int:
    """An index counted from the first element; a negative one counts from the end (NumPy; ONNX Slice, Shape)."""
    return index + extent if index < 0 else index


def clamped(number: int, first: int, last: int) -> int:
    """The number of [first, last] nearest to a number; last where the range is empty (ONNX Slice, Shape)."""
    if first <= number <= last:
        return number
    if number < first <= last:
        return first
    return last


def steps_over(distance: int, step: int) -> int:
    """How many of 0, step, 2 step, … lie before a distance: the quotient rounded up, none where it is negative."""
    if step < 1:
        raise Undefined("the step is not positive")
    if distance < 1:
        return 0
    return (distance - 1) // step + 1


def sliced(extent: int, start: int, end: int, step: int) -> int:
    """How many of the indices start, start + step, … of an axis come before end, both brought into the axis first.

    ONNX Slice-13: start to [0, extent] or [0, extent - 1], end to [0, extent] or [-1, extent - 1], by the sign of step.
    """
    if step > 0:
        return steps_over(
            clamped(from_first(end, extent), 0, extent) - clamped(from_first(start, extent), 0, extent), step
        )
    if step < 0:
        return steps_over(
            clamped(from_first(start, extent), 0, extent - 1) - clamped(from_first(end, extent), -1, extent - 1), -step
        )
    raise Undefined("the step is 0")


def least(element: str) -> int:
    """The least number of a signed integer type: minint (SONNX notations)."""
    if element == "int8":
        return -128
    if element == "int16":
        return -32768
    if element == "int32":
        return -2147483648
    if element == "int64":
        return -9223372036854775808
    raise Undefined("the element type is not a signed integer")


def window(kernel: int, dilation: int) -> int:
    """The extent from the first to the last element a kernel touches on an axis, gaps of its dilation included."""
    return dilation * (kernel - 1) + 1


def positions(extent: int, width: int, stride: int) -> int:
    """The places a window can take on a padded axis: floor((extent - window) / stride) + 1 (Conv, MaxPool)."""
    if stride < 1:
        raise Undefined("the stride is not positive")
    if extent < width:
        raise Undefined("the window is larger than the padded axis")
    return (extent - width) // stride + 1


def touches(extent: int, start: int, kernel: int, dilation: int) -> bool:
    """Whether a kernel laid from `start` on, which is negative in the padding, meets one of `extent` elements."""
    if dilation < 1:
        raise Undefined("the dilation is not positive")
    if start >= 0:
        return start < extent
    return start % dilation < extent and (dilation - 1 - start) // dilation < kernel


def expands_to(shape: list[int], target: list[int]) -> bool:
    """Unidirectional broadcasting: each extent, from the last, is that of the target or 1 (ONNX Broadcasting.md)."""
    return len(shape) <= len(target) and all(
        aligned(shape, k) == aligned(target, k) or aligned(shape, k) == 1 for k in range(len(shape))
    )
