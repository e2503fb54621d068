"""ReduceMax: reduced[k] = max of data[i] over all i that agree with k outside axes.

ONNX ReduceMax-1 to ReduceMax-20.  The order is that of Max; of several NaNs the first in row-major order is the
result, bit for bit.  From version 18 on the maximum of no element is -Inf, for integers the lowest value, for bool
False; before it no text gives one.  The data file names the reduced axes, which every version writes differently
(attribute, input, absent, empty): here they are `gone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, larger, lowest, patterns
from sonnx.semantics.reduction import gone_axes

OPERATOR = "ReduceMax"

EMPTY_SINCE = 18
"""The version that gives the maximum of no element, and an empty list of axes a meaning."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """reduced, of the type of data and of its shape with each named axis reduced to 1 or removed.

    Raises:
        NoValue: below version 18, a maximum of no element (ReduceMax.reduction-not-empty).
    """
    data, gone = inputs[0], gone_axes(application, EMPTY_SINCE)
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
