"""AveragePool: Y[b, c, ..] = the sum of the elements of X under the window, over their number, rounded once.

ONNX AveragePool-1 to AveragePool-22.  With count_include_pad = 1 padding counts as elements that are 0, though not what
ceil_mode adds beyond `pads`.  A window over padding only has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.certified_rounding import UNIT, Bound, certify_block
from sonnx.numerics.enclosures import averages
from sonnx.numerics.exact_sums import Number, numbers, store, total
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.patches import sums_under
from sonnx.numerics.summation import round_total, total_of
from sonnx.numerics.windows import Windows, stated_windows
from sonnx.operators.maxpool import under_each
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature

ATTRIBUTES = {
    "kernel_shape": "ints",
    "strides": "ints",
    "dilations": "ints",
    "pads": "ints",
    "auto_pad": "string",
    "ceil_mode": "int",
    "count_include_pad": "int",
}

PLANE_ELEMENTS = 1 << 16
"""Elements of the planes that are added up at a time; at least one plane."""

Limits = tuple[tuple[int, int], ...]
"""On each spatial axis the first and one after the last place that counts as an element."""


def output_specs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the type of X."""
    shape, kind = inputs[0]
    return (((*shape[:2], *slid_over(application, shape).places), kind),)


def slid_over(application: Application, shape: Sequence[int]) -> Windows:
    """The windows of a node over the spatial axes of an input of this shape.

    Raises:
        NotExecutable: kernel_shape is not written.
    """
    kernel = application.parameter("kernel_shape")
    if kernel is None:
        raise NotExecutable("kernel_shape is not written")
    return stated_windows(application, shape, kernel)


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    (X,) = inputs
    slid = slid_over(application, X.shape)
    limits = counted(application, slid)
    Y = np.empty((*X.shape[:2], *slid.places), X.dtype)
    elements = np.array(numbers(X), object).reshape(X.shape)
    for b, c, *place in np.ndindex(Y.shape):
        store_mean(Y, (b, c, *place), elements[b, c], slid, limits)
    return (Y,)


def counted(application: Application, slid: Windows) -> Limits:
    """For each spatial axis the range of places that count in the mean."""
    axes = range(len(slid.extents))
    if not application.parameter("count_include_pad"):
        return tuple((0, slid.extents[d]) for d in axes)
    if application.parameter("auto_pad") != "NOTSET":
        return tuple((-slid.begins[d], slid.extents[d] + slid.ends[d]) for d in axes)
    pads = application.numbers("pads", 2 * len(axes))
    return tuple((-pads[d], slid.extents[d] + pads[len(axes) + d]) for d in axes)


def store_mean(Y: Array, index: tuple[int, ...], plane: Array, slid: Windows, limits: Limits) -> None:
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


def kernel(application: Application) -> Kernel:
    """The shifted views of padded planes, added up in float64.

    Where no element is negative, a sum of a additions is off by at most a u of itself, u = 2^-53, and the mean by one u
    more.  Other planes, and elements that this leaves open, are added up with what each addition cuts off
    (`summation.py`).
    Padding that counts is +0, padding that does not is -0, which changes no sum, not even the sign of a zero.
    """

    def average_pool(inputs: Sequence[Array], out: Array) -> Array:
        (X,) = inputs
        number_format = format_of(X.dtype)
        if number_format is None or X.dtype == np.float64:
            np.copyto(out, define(application, inputs)[0])
            application.count(out.size, out.size)
        elif out.size:
            slid = slid_over(application, X.shape)
            application.count(
                out.size, _pool(X, slid, counted(application, slid), out, application.block(PLANE_ELEMENTS))
            )
        return out

    return average_pool


def _pool(X: Array, slid: Windows, limits: Limits, out: Array, block: int) -> int:
    number = numbers_of_elements(slid, limits)
    if (number == 0).any():
        place = np.argwhere(number == 0)[0].tolist()
        raise NotExecutable(f"the window at {place} lies on padding only")
    planes, means, exact = X.reshape(-1, *X.shape[2:]), out.reshape(-1, *out.shape[2:]), 0
    step = max(1, block // max(1, planes[0].size))
    for start in range(0, len(planes), step):
        part = slice(start, start + step)
        padded = _padded(planes[part], slid, limits)
        open_ = np.ones(means[part].shape, np.bool_)
        if padded.min(initial=0) >= 0:
            mean = np.divide(sums_under(padded, slid), number).reshape(-1)
            array = certify_block(mean, Bound((sum(slid.kernel) + 2) * UNIT), means[part].reshape(-1))
            open_ = np.zeros(open_.shape, np.bool_) if array is None else array.reshape(open_.shape)
        if np.count_nonzero(open_):
            some = slice(None) if open_.all() else np.nonzero(open_)
            exactly = total_of(padded[(slice(None), *part)][some] for part in under_each(slid))
            divisor = np.broadcast_to(number, open_.shape)[some]
            means[part][some], open_[some] = round_total(exactly, prod(slid.kernel), divisor, out.dtype)
        for plane in np.flatnonzero(open_.reshape(len(open_), -1).any(axis=1)).tolist():
            elements = np.array(numbers(planes[start + plane]), object).reshape(planes.shape[1:])
            for place in np.argwhere(open_[plane]).tolist():
                store_mean(means[start + plane][None, None], (0, 0, *place), elements, slid, limits)
                exact += 1
    return exact


def numbers_of_elements(slid: Windows, limits: Limits) -> Array:
    """How many elements count under the window at each place."""
    axes = []
    for d, (first, last) in enumerate(limits):
        under = np.add.outer(
            np.arange(slid.places[d]) * slid.strides[d] - slid.begins[d], np.arange(slid.kernel[d]) * slid.dilations[d]
        )
        axes.append(((under >= first) & (under < last)).sum(axis=1))
    array: Array = np.ones(())
    for axis in axes:
        array = np.multiply.outer(array, axis)
    return array


def _padded(planes: Array, slid: Windows, limits: Limits) -> Array:
    extents = zip(slid.extents, slid.begins, slid.ends, strict=True)
    array = np.full((len(planes), *[extent + begin + end for extent, begin, end in extents]), -0.0)
    counting = [slice(first + begin, last + begin) for (first, last), begin in zip(limits, slid.begins, strict=True)]
    array[(slice(None), *counting)] = 0.0
    inside = [slice(begin, begin + extent) for begin, extent in zip(slid.begins, slid.extents, strict=True)]
    array[(slice(None), *inside)] = planes
    return array


OPERATOR = Operator(
    name="AveragePool",
    continuous=True,
    may_overflow_inside=True,
    signed_padding=True,
    versions=(1, 7, 10, 11, 19, 22),
    changes=(1, 7, 10, 19),
    absent={
        "auto_pad": "NOTSET",
        "ceil_mode": 0,
        "count_include_pad": 0,
        "dilations": "ones",
        "pads": "zeros",
        "strides": "ones",
    },
    output_element="first",
    define=define,
    kernel=kernel,
    signature=StatedSignature(inputs=(1, 1), attributes=ATTRIBUTES, output_specs=output_specs),
    bound=averages.average_pool,
)
