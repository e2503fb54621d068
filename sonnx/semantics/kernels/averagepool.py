"""AveragePool, fast: the shifted views of padded planes added up by `totals.py`.

Padding that counts is +0, padding that does not is -0, which changes no sum, not even the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.averagepool import counted, slid_over, store_mean
from sonnx.semantics.averagepool import evaluate as definition
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.totals import rounded, total_of
from sonnx.semantics.sums import numbers
from sonnx.semantics.windows import Windows
from sonnx.stops import NotExecutable

BLOCK = 1 << 16
"""Elements of planes that are added up at a time."""

Limits = tuple[tuple[int, int], ...]


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def average_pool(inputs: Sequence[Array], out: Array) -> Array:
        (X,) = inputs
        made = format_of(X.dtype)
        if made is None or X.dtype == np.float64:
            np.copyto(out, definition(application, inputs)[0])
            application.count(out.size, out.size)
        elif out.size:
            slid = slid_over(application, X.shape)
            application.count(out.size, _pool(X, slid, counted(application, slid), out))
        return out

    return average_pool


def _pool(X: Array, slid: Windows, limits: Limits, out: Array) -> int:
    number = _numbers_of_elements(slid, limits)
    if (number == 0).any():
        place = np.argwhere(number == 0)[0].tolist()
        raise NotExecutable(f"the window at {place} lies on padding only")
    planes, made, exact = X.reshape(-1, *X.shape[2:]), out.reshape(-1, *out.shape[2:]), 0
    step = max(1, BLOCK // max(1, planes[0].size))
    for start in range(0, len(planes), step):
        part = slice(start, start + step)
        values, open_ = rounded(
            total_of(_views(_padded(planes[part], slid, limits), slid)), prod(slid.kernel), number, out.dtype
        )
        made[part] = values
        for plane in np.flatnonzero(open_.reshape(len(open_), -1).any(axis=1)).tolist():
            elements = np.array(numbers(planes[start + plane]), object).reshape(planes.shape[1:])
            for place in np.argwhere(open_[plane]).tolist():
                store_mean(made[start + plane][None, None], (0, 0, *place), elements, slid, limits)
                exact += 1
    return exact


def _numbers_of_elements(slid: Windows, limits: Limits) -> Array:
    """How many elements count under the window at each place."""
    axes = []
    for d, (first, last) in enumerate(limits):
        under = np.add.outer(
            np.arange(slid.places[d]) * slid.strides[d] - slid.begins[d], np.arange(slid.kernel[d]) * slid.dilations[d]
        )
        axes.append(((under >= first) & (under < last)).sum(axis=1))
    made: Array = np.ones(())
    for axis in axes:
        made = np.multiply.outer(made, axis)
    return made


def _padded(planes: Array, slid: Windows, limits: Limits) -> Array:
    extents = zip(slid.extents, slid.begins, slid.ends, strict=True)
    made = np.full((len(planes), *[extent + begin + end for extent, begin, end in extents]), -0.0)
    counting = [slice(first + begin, last + begin) for (first, last), begin in zip(limits, slid.begins, strict=True)]
    made[(slice(None), *counting)] = 0.0
    inside = [slice(begin, begin + extent) for begin, extent in zip(slid.begins, slid.extents, strict=True)]
    made[(slice(None), *inside)] = planes
    return made


def _views(planes: Array, slid: Windows) -> Iterator[Array]:
    for offsets in product(*map(range, slid.kernel)):
        starts = [offset * dilation for offset, dilation in zip(offsets, slid.dilations, strict=True)]
        spans = zip(starts, slid.places, slid.strides, strict=True)
        yield planes[(slice(None), *[slice(s, s + (count - 1) * stride + 1, stride) for s, count, stride in spans])]
