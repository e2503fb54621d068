"""AveragePool: Y[b, c, ..] = the sum of the elements of X under the window, over their number, rounded once.

ONNX AveragePool-1 to AveragePool-22.  With count_include_pad = 1 padding counts as elements that are 0, though not what
ceil_mode adds beyond `pads`.  A window over padding only has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.pooling import windows_of
from sonnx.semantics.sums import Number, numbers, store, total
from sonnx.semantics.windows import Windows
from sonnx.stops import NotExecutable

OPERATOR = "AveragePool"
INPUTS = 1
ATTRIBUTES = {
    "kernel_shape": "ints",
    "strides": "ints",
    "dilations": "ints",
    "pads": "ints",
    "auto_pad": "string",
    "ceil_mode": "int",
    "count_include_pad": "int",
}


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the type of X."""
    shape, kind = inputs[0]
    return (((*shape[:2], *slid_over(application, shape).places), kind),)


def slid_over(application: Application, shape: Sequence[int]) -> Windows:
    """The windows.

    Raises:
        NotExecutable: kernel_shape is not written.
    """
    kernel = application.attribute("kernel_shape", None)
    if kernel is None:
        raise NotExecutable("kernel_shape is not written")
    return windows_of(application, shape, kernel)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    (X,) = inputs
    slid = slid_over(application, X.shape)
    limits = counted(application, slid)
    Y = np.empty((*X.shape[:2], *slid.places), X.dtype)
    elements = np.array(numbers(X), object).reshape(X.shape)
    for b, c, *place in np.ndindex(Y.shape):
        store_mean(Y, (b, c, *place), elements[b, c], slid, limits)
    return (Y,)


def counted(application: Application, slid: Windows) -> tuple[tuple[int, int], ...]:
    """On each spatial axis the first and one after the last place that counts as an element."""
    axes = range(len(slid.extents))
    if not application.attribute("count_include_pad", 0):
        return tuple((0, slid.extents[d]) for d in axes)
    if application.attribute("auto_pad", "NOTSET") != "NOTSET":
        return tuple((-slid.begins[d], slid.extents[d] + slid.ends[d]) for d in axes)
    pads = application.attribute("pads", [0] * 2 * len(axes))
    return tuple((-pads[d], slid.extents[d] + pads[len(axes) + d]) for d in axes)


def store_mean(
    Y: Array, index: tuple[int, ...], plane: Array, slid: Windows, limits: tuple[tuple[int, int], ...]
) -> None:
    """Put one mean into Y; `plane` has the numbers of a channel.

    Raises:
        NotExecutable: the window counts no element.
    """
    addends: list[Number] = []
    for at in slid.where(index[2:]):
        if all(first <= i < last for i, (first, last) in zip(at, limits, strict=True)):
            inside = all(0 <= i < extent for i, extent in zip(at, slid.extents, strict=True))
            addends.append(plane[at] if inside else 0.0)
    if not addends:
        raise NotExecutable(f"the window at {list(index[2:])} lies on padding only")
    store(Y, index, total(addends), divisor=len(addends))
