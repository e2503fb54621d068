"""ReduceMax: reduced[k] = max of data[i] over all i that agree with k outside axes.

ONNX ReduceMax-1 to ReduceMax-20.  The order is that of Max; of several NaNs the first in row-major order is the
result, bit for bit.  From version 18 on the maximum of no element is -Inf, for integers the lowest value, for bool
False; before it no text gives one.  The data file names the reduced axes, which every version writes differently
(attribute, input, absent, empty): here they are `gone`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from math import prod
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, Format, format_of, larger, lowest, patterns
from sonnx.numerics.numpy_trials import maximum_keeps_the_first_nan
from sonnx.numerics.reductions import reduced_axes
from sonnx.operators.operator import Operator

NAN_SLICE_ELEMENTS = 1 << 18
"""Elements of slices with a NaN that are copied at a time; at least one slice."""

EMPTY_SINCE = 18
"""The version that gives the maximum of no element, and an empty list of axes a meaning."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """reduced, of the type of data and of its shape with each named axis reduced to 1 or removed.

    Raises:
        NoValue: below version 18, a maximum of no element (ReduceMax.reduction-not-empty).
    """
    data, gone = inputs[0], reduced_axes(application, EMPTY_SINCE)
    require_elements(application.version, data.shape, gone)
    reduced = reduce_max(data, gone)
    return (np.expand_dims(reduced, gone) if application.names["keepdims"] == 1 else reduced,)


def require_elements(version: int, shape: tuple[int, ...], gone: tuple[int, ...]) -> None:
    """Every maximum is one of at least one element, or the version gives the maximum of none.

    Raises:
        NoValue: neither holds.
    """
    kept = [extent for i, extent in enumerate(shape) if i not in gone]
    if version < EMPTY_SINCE and 0 in [shape[i] for i in gone] and 0 not in kept:
        text = f"the shape {shape} has no element along the axes {list(gone)}"
        raise NoValue("ReduceMax.reduction-not-empty", text)


def reduce_max(data: Array, gone: tuple[int, ...]) -> Array:
    """The result without the axes: for each k the maximum of the elements in row-major order."""
    kept = [i for i in range(data.ndim) if i not in gone]
    slices = patterns(np.transpose(data, (*kept, *gone)))
    reduced = np.empty([data.shape[i] for i in kept], data.dtype)
    of_two = larger(data.dtype)
    for k in np.ndindex(reduced.shape):
        elements = [int(element) for element in slices[k].flat]
        patterns(reduced)[k] = reduce(of_two, elements) if elements else lowest(data.dtype)
    return reduced


def kernel(application: Application) -> Kernel:
    """Integers and bool: np.maximum.reduce.

    float and double: the same; results that are -0 are searched again as integers (+0 is the largest integer among
    zeros and negative values), results that are NaN become the first NaN of their slice.  float16 and bfloat16: on the
    integers of the width, S the largest and M the least of a slice, S if S >= 0 else M.
    """
    gone, keep = reduced_axes(application, EMPTY_SINCE), application.names["keepdims"] == 1

    def reduce_max(inputs: Sequence[Array], out: Array) -> Array:
        require_elements(application.version, inputs[0].shape, gone)
        reduced = out if keep else np.expand_dims(out, gone)
        reduce_into(inputs[0], gone, reduced, application.block)
        return out

    return reduce_max


def reduce_into(data: Array, gone: tuple[int, ...], reduced: Array, block: BlockSize = usual_size) -> None:
    """The maximum along the axes in `reduced`, which keeps them with extent 1."""
    if data.size == 0:
        patterns(reduced)[...] = lowest(data.dtype)
    elif not gone:
        np.copyto(reduced, data)
    else:
        _reduction(data.dtype)(data, gone, reduced, block)


Reduction = Callable[[Array, tuple[int, ...], Array, BlockSize], None]


@cache
def _reduction(kind: np.dtype[Any]) -> Reduction:
    number_format = format_of(kind)
    if number_format is None:
        return lambda data, gone, reduced, block: _by_numpy(data, gone, reduced)
    if kind.itemsize > 2 and maximum_keeps_the_first_nan(kind):
        return _with_zeros(number_format)
    return _by_integers(number_format)


def _by_numpy(data: Array, gone: tuple[int, ...], reduced: Array) -> None:
    np.maximum.reduce(data, axis=gone, out=reduced, keepdims=True)


def _with_zeros(number_format: Format) -> Reduction:
    def reduction(data: Array, gone: tuple[int, ...], reduced: Array, block: BlockSize) -> None:
        _by_numpy(data, gone, reduced)
        flat, bits = reduced.reshape(-1), reduced.view(number_format.signed)
        if np.minimum.reduce(flat.view(number_format.signed)) == -number_format.sign:
            integers = np.maximum.reduce(data.view(number_format.signed), axis=gone, keepdims=True)
            np.copyto(bits, 0, where=(bits == -number_format.sign) & (integers == 0))
        largest = np.maximum.reduce(flat)
        if largest != largest:  # a NaN, which np.maximum passes on
            nan = reduced.view(number_format.unsigned) & (number_format.sign - 1) > number_format.infinity
            _first_nan(data, gone, reduced, nan, number_format, block(NAN_SLICE_ELEMENTS))

    return reduction


def _by_integers(number_format: Format) -> Reduction:
    def reduction(data: Array, gone: tuple[int, ...], reduced: Array, block: BlockSize) -> None:
        integers, S = data.view(number_format.signed), reduced.view(number_format.signed)
        _by_numpy(integers, gone, S)
        nan = number_format.infinity < S
        largest = np.maximum.reduce(data.view(number_format.unsigned), axis=gone, keepdims=True)
        nan |= largest > number_format.sign + number_format.infinity
        if np.minimum.reduce(S.reshape(-1)) < 0:
            M = np.minimum.reduce(integers, axis=gone, keepdims=True)
            np.copyto(S, M, where=S < 0)
        if nan.reshape(-1).any():
            _first_nan(data, gone, reduced, nan, number_format, block(NAN_SLICE_ELEMENTS))

    return reduction


def _first_nan(
    data: Array, gone: tuple[int, ...], reduced: Array, nan: Array, number_format: Format, block: int
) -> None:
    """Where `nan` holds, the first NaN of the slice in row-major order."""
    kept = [axis for axis in range(data.ndim) if axis not in gone]
    slices = np.transpose(data.view(number_format.unsigned), (*kept, *gone))[
        None
    ]  # the added axis is kept, so one always is
    places = np.nonzero(np.squeeze(nan, gone)[None])
    target = np.squeeze(reduced.view(number_format.unsigned), gone)[None]
    count = max(1, block // prod(data.shape[axis] for axis in gone))
    for start in range(0, len(places[0]), count):
        some = tuple(place[start : start + count] for place in places)
        rows = slices[some].reshape(len(some[0]), -1)
        first = np.argmax(rows & (number_format.sign - 1) > number_format.infinity, axis=1)
        target[some] = rows[np.arange(len(rows)), first]


OPERATOR = Operator(
    name="ReduceMax",
    selects=True,
    continuous=True,
    axis_parameter="axes",
    define=define,
    kernel=kernel,
    bound=selection.reduce_max,
)
