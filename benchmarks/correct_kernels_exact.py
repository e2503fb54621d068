"""Correct implementations of the operators whose outputs are exact: they move, select or compare elements.

They are written in numpy from the texts and without the executor.  Where an operator moves elements, one way computes
the place in the input of every element of the output, and the other one is numpy's own function.  Where it selects an
element, one way compares bit patterns and the other one compares numbers, in the order in which an implementation adds
up: from the first element to the last, from the last to the first, or in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import TEXT, Array, format_of, is_integer, limits_of

if TYPE_CHECKING:
    from benchmarks.correct_kernels import Implementation, Kernel

# ------------------------------------------------------------------ moved elements


def taken(x: Array, places: Sequence[Array]) -> Array:
    """The elements of x at places that are given by axis; one element if x has no axes."""
    return x[tuple(places)] if x.ndim else x.reshape(())


def concat(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    arrays = [array for array in inputs if array is not None]
    axis = attributes["axis"]
    if not used.by_place:
        return [np.concatenate(arrays, axis)]
    axis %= arrays[0].ndim
    shape = [*arrays[0].shape]
    shape[axis] = sum(array.shape[axis] for array in arrays)
    output, first = np.empty(shape, arrays[0].dtype), 0
    for array in arrays:
        places = list(np.indices(array.shape, sparse=True))
        places[axis] = places[axis] + first
        output[tuple(places)] = array
        first += array.shape[axis]
    return [output]


def constant(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    return [decode(attributes["value"], None)]


def reshaped(used: Implementation, x: Array, shape: Sequence[int]) -> Array:
    """The elements of x in row-major order with another shape."""
    if not used.by_place:
        return x.reshape(shape)
    output = np.empty(prod(shape), x.dtype)
    steps = [prod(x.shape[axis + 1 :]) for axis in range(x.ndim)]
    numbers = sum((place * step for place, step in zip(np.indices(x.shape), steps, strict=True)), np.zeros((), int))
    output[numbers.ravel()] = x.ravel()
    return np.lib.stride_tricks.as_strided(
        output, shape, [prod(shape[axis + 1 :]) * x.dtype.itemsize for axis in range(len(shape))]
    )


def flatten(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, axis = _all(inputs)[0], attributes.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    return [reshaped(used, x, (prod(x.shape[:axis]), prod(x.shape[axis:])))]


def reshape(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, listed = _all(inputs)
    shape = [int(each) for each in listed]
    if not attributes.get("allowzero", 0):
        shape = [each or x.shape[axis] for axis, each in enumerate(shape)]
    if -1 in shape:
        shape[shape.index(-1)] = x.size // -prod(shape)
    return [reshaped(used, x, shape)]


def shape_of(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = _all(inputs)
    start, end = (attributes.get(name, default) for name, default in (("start", 0), ("end", x.ndim)))
    if not used.by_place:
        return [np.array(x.shape[start:end], np.int64)]
    first, last = (min(max(0, each + (x.ndim if each < 0 else 0)), x.ndim) for each in (start, end))
    return [np.array([x.shape[axis] for axis in range(first, last)], np.int64)]


def unsqueeze(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, listed = _all(inputs)
    axes = tuple(int(axis) for axis in listed)
    if not used.by_place:
        return [np.expand_dims(x, axes)]
    rank, extents = x.ndim + len(axes), iter(x.shape)
    one = {axis % rank for axis in axes}
    return [reshaped(used, x, [1 if axis in one else next(extents) for axis in range(rank)])]


def slice_of(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, starts, ends, *further = _all(inputs)
    axes = further[0] if further else np.arange(len(starts))
    steps = further[1] if len(further) > 1 else np.ones(len(starts), np.int64)
    places = [np.arange(extent) for extent in x.shape]
    whole = [slice(None)] * x.ndim
    for start, end, axis, step in zip(*(map(int, each) for each in (starts, ends, axes, steps)), strict=True):
        extent = x.shape[axis]
        first, last = (each + (extent if each < 0 else 0) for each in (start, end))
        places[axis] = np.arange(min(first, extent - (step < 0)), max(-1, min(last, extent)), step)
        whole[axis] = slice(first, None if last < 0 else last, step)
    return [taken(x, np.ix_(*places)) if used.by_place else x[tuple(whole)].copy()]


def _source(places: Array, extent: int, mode: str) -> Array:
    """The place in an axis of what stands at places that begin before it and end behind it."""
    if mode == "wrap":
        return places % extent
    if mode == "reflect" and extent > 1:
        period = 2 * (extent - 1)
        return extent - 1 - np.abs(places % period - (extent - 1))
    return np.clip(places, 0, extent - 1)


def pad(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, listed = _all(inputs[:2])
    fill, named = ([*inputs, None, None][place] for place in (2, 3))
    mode = _text(attributes.get("mode", "constant"))
    axes = range(x.ndim) if named is None else [int(axis) % x.ndim for axis in named]
    before, after = [0] * x.ndim, [0] * x.ndim
    for number, axis in enumerate(axes):
        before[axis], after[axis] = int(listed[number]), int(listed[len(axes) + number])
    if used.by_place:
        places = [np.arange(-one, extent + two) for extent, one, two in zip(x.shape, before, after, strict=True)]
        steps = [prod(x.shape[axis + 1 :]) for axis in range(x.ndim)]
        sources = [_source(*each, mode) for each in zip(places, x.shape, strict=True)]
        chosen = sum(np.ix_(*map(np.multiply, sources, steps)), np.zeros((), int))
        outside = [((each < 0) | (each >= extent)).astype(int) for each, extent in zip(places, x.shape, strict=True)]
        if mode == "constant":
            chosen = np.where(reduce(np.logical_or, np.ix_(*outside), np.zeros((), bool)), -1, chosen)
    else:  # what negative amounts remove is cut off at last
        amounts = [(max(0, one), max(0, two)) for one, two in zip(before, after, strict=True)]
        options: Mapping[str, Any] = {"constant_values": -1} if mode == "constant" else {}
        numbers = np.arange(x.size).reshape(x.shape)
        chosen = np.pad(numbers, amounts, mode, **options) if x.ndim else numbers  # type: ignore[call-overload]
        chosen = chosen[tuple(slice(max(0, -one), extent - max(0, -two)) for one, two, extent in zip(
            before, after, chosen.shape, strict=True))]  # fmt: skip
    filling = np.zeros(1, x.dtype) if fill is None else fill.reshape(1)
    if fill is None and x.dtype == TEXT:
        filling = np.array([""], TEXT)
    return [np.concatenate([x.ravel(), filling])[chosen.ravel()].reshape(chosen.shape)]


def where(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    condition, x, y = np.broadcast_arrays(*_all(inputs))
    if not used.by_place:
        return [np.where(condition, x, y)]
    output = y.copy()
    output[condition] = x[condition]
    return [output]


# ------------------------------------------------------------------ compared and selected elements


def rank(x: Array, *, zeros_equal: bool = False) -> Array:
    """An integer for each element, which grows with it: -inf, the numbers, -0, +0, the numbers, +inf, all NaNs."""
    number_format = format_of(x.dtype)
    if number_format is None:
        return x
    bits = np.ascontiguousarray(x).view(number_format.unsigned)
    magnitude = (bits & number_format.unsigned.type(number_format.sign - 1)).astype(number_format.signed)
    ordered = np.where(bits >= number_format.sign, -magnitude - (not zeros_equal), magnitude)
    greatest = np.iinfo(number_format.signed).max
    return np.where(magnitude > number_format.infinity, greatest, ordered).astype(number_format.signed).reshape(x.shape)


def greater_bits(left: Array, right: Array) -> Array:
    """The greater one of each pair of elements, by their bit patterns."""
    return np.where(rank(left) >= rank(right), left, right)


def greater_number(left: Array, right: Array) -> Array:
    """The greater one of each pair of elements, by the maximum of numpy; the sum of two zeros is -0 if both are."""
    if left.dtype == bool:
        return left | right
    most = np.maximum(left, right)
    return most if is_integer(left.dtype) else np.where((left == 0) & (right == 0), left + right, most)


def greatest(used: Implementation, count: int, term: Callable[[int], Array]) -> Array:
    """The greatest one of some arrays, element by element."""
    combine = greater_bits if used.by_place else greater_number
    return reduce(combine, map(term, range(count))) if used.add is None else used.add(count, term, combine)


def maximum(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    arrays = np.broadcast_arrays(*_all(inputs))
    return [greatest(used, len(arrays), lambda k: arrays[k]).copy()]


def reduce_max(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    x, listed = inputs[0], inputs[1] if len(inputs) > 1 else None
    assert x is not None
    axes = {int(axis) % x.ndim for axis in (() if listed is None else listed)}
    if not axes and not attributes.get("noop_with_empty_axes", 0):
        axes = {*range(x.ndim)}
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    count = prod(x.shape[axis] for axis in axes)
    rows = x.transpose([*kept, *sorted(axes)]).reshape([*(x.shape[axis] for axis in kept), count])
    if count:
        output = greatest(used, count, lambda k: rows[..., k])
    else:
        least = -np.inf if format_of(x.dtype) else False if x.dtype == bool else limits_of(x.dtype)[0]
        output = np.full(rows.shape[:-1], least).astype(x.dtype)
    keep = attributes.get("keepdims", 1)
    shape = [1 if axis in axes else x.shape[axis] for axis in range(x.ndim) if keep or axis not in axes]
    return [output.reshape(shape)]


def arg_max(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x], axis, last = _all(inputs), attributes.get("axis", 0), attributes.get("select_last_index", 0)
    if used.by_place:  # one element after the other
        keys = np.moveaxis(rank(x, zeros_equal=True), axis, 0)
        output, best = np.zeros(keys.shape[1:], np.int64), keys[0]
        for k in range(1, len(keys)):
            better = keys[k] >= best if last else keys[k] > best
            output, best = np.where(better, k, output), np.where(better, keys[k], best)
        output = np.expand_dims(output, axis)
    else:  # numpy selects the first one, of the NaNs or of the greatest numbers
        line = np.flip(x, axis) if last else x
        wide = line.astype(np.float32) if x.dtype.itemsize == 2 and format_of(x.dtype) else line
        output = np.argmax(wide, axis, keepdims=True).astype(np.int64)
        output = x.shape[axis] - 1 - output if last else output
    return [output if attributes.get("keepdims", 1) else output.squeeze(axis)]


def max_pool(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = _all(inputs)
    kernel = attributes["kernel_shape"]
    dims = len(kernel)
    strides, dilations = (attributes.get(name) or [1] * dims for name in ("strides", "dilations"))
    pads = attributes.get("pads") or [0] * (2 * dims)
    least = -np.inf if format_of(x.dtype) else limits_of(x.dtype)[0]
    spans = [dilation * (extent - 1) + 1 for dilation, extent in zip(dilations, kernel, strict=True)]
    amounts = [(0, 0), (0, 0), *zip(pads[:dims], pads[dims:], strict=True)]
    padded = np.pad(x, amounts, constant_values=np.array(least).astype(x.dtype))
    if used.by_place:
        places = [(padded.shape[2 + d] - spans[d]) // strides[d] + 1 for d in range(dims)]
        offsets = [*product(*map(range, kernel))]
        corners = np.ix_(*(np.arange(count) * stride for count, stride in zip(places, strides, strict=True)))

        def term(k: int) -> Array:
            at = [corner + offset * d for corner, offset, d in zip(corners, offsets[k], dilations, strict=True)]
            return np.asarray(padded[(slice(None), slice(None), *at)])

        return [greatest(used, len(offsets), term)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, tuple(range(2, 2 + dims)))
    steps = (*(slice(None, None, stride) for stride in strides), *(slice(None, None, each) for each in dilations))
    rows = windows[(slice(None), slice(None), *steps)]
    rows = rows.reshape(*rows.shape[: 2 + dims], prod(kernel))
    return [greatest(used, rows.shape[-1], lambda k: rows[..., k])]


def clip(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    """A bound that is NaN does not limit; crossed bounds give the upper one."""
    x, low, high = _all(inputs)
    if used.by_place:
        inner = np.where(x < low, low, np.where(x > high, high, x))
    else:
        inner = np.where(x > high, high, np.where(x < low, low, x))
    return [np.where(low > high, high, inner).astype(x.dtype)]


def less(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    left, right = _all(inputs)
    if not used.by_place:
        return [np.asarray(left < right)]
    ordered = rank(left, zeros_equal=True) < rank(right, zeros_equal=True)
    return [ordered if is_integer(left.dtype) else ordered & ~np.isnan(right)]


def absolute(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = _all(inputs)
    return [_with_sign(x, 0) if used.by_place and format_of(x.dtype) else np.abs(x)]


def negative(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = _all(inputs)
    if used.by_place:
        return [_with_sign(x, 1) if format_of(x.dtype) else x.dtype.type(0) - x]
    return [np.negative(x)]


def _with_sign(x: Array, flipped: int) -> Array:
    """With the sign bit flipped, or without."""
    number_format = format_of(x.dtype)
    assert number_format is not None
    bits, sign = np.ascontiguousarray(x).view(number_format.unsigned), number_format.unsigned.type(number_format.sign)
    return (bits ^ sign if flipped else bits & ~sign).view(x.dtype).reshape(x.shape)


def relu(used: Implementation, inputs: Sequence[Array | None], attributes: Any) -> list[Array]:
    [x] = _all(inputs)
    return [np.where(x < 0, x.dtype.type(0), x) if used.by_place else np.maximum(x, x.dtype.type(0))]


def integer_power(x: Array, y: Array) -> Array:
    """The powers of integers as Python's numbers."""
    left, right = np.broadcast_arrays(x, y)
    return np.array([int(a) ** int(b) for a, b in zip(left.flat, right.flat, strict=True)], x.dtype).reshape(left.shape)


def _all(inputs: Sequence[Array | None]) -> list[Array]:
    return [array for array in inputs if array is not None]


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


EXACT: dict[str, Kernel] = {
    "Abs": absolute, "ArgMax": arg_max, "Clip": clip, "Concat": concat, "Constant": constant, "Flatten": flatten,
    "Less": less, "Max": maximum, "MaxPool": max_pool, "Neg": negative, "Pad": pad, "ReduceMax": reduce_max,
    "Relu": relu, "Reshape": reshape, "Shape": shape_of, "Slice": slice_of, "Unsqueeze": unsqueeze, "Where": where,
}  # fmt: skip
