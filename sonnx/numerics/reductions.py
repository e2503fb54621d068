"""Sums and means along axes: what ReduceSum, ReduceMean and GlobalAveragePool share.

A mean is the exact sum over the number of elements, rounded once; no text gives one of integers, or of no element.
Sums of integers wrap around, and a sum of no element is +0.

The fast path adds up in float64 with what each addition cuts off (`summation.py`); elements that this leaves open, and
float64, go to the definition.  Sums of integers are numpy's, which wrap around in the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Definition, NoValue
from sonnx.numerics.exact_sums import numbers, store, total
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.summation import round_total, total_along_first

SLICE_ELEMENTS = 1 << 18
"""Elements of the slices that are added up at a time; at least one slice."""


def reduced_axes(application: Application, since: int) -> tuple[int, ...]:
    """The reduced axes, ascending, as the data file names them.

    Args:
        application: the node.
        since: the version from which an empty list of axes has a meaning.

    Raises:
        NoValue: in a version before it the list is written and empty.
    """
    gone = tuple(sorted(application.names["gone"]))
    if application.version < since and application.names["written(axes)"] and not gone:
        raise NoValue(f"{application.operator}.axes-not-empty", "the list of axes is empty")
    return gone


def without_axes(application: Application, reduced: Array, gone: Sequence[int]) -> Array:
    """The result with the axes removed where keepdims is 0."""
    return reduced if application.names["keepdims"] == 1 else np.squeeze(reduced, tuple(gone))


def reduce_sum(data: Array, gone: tuple[int, ...], mean: bool) -> Array:
    """The sums or means along the axes, which stay with extent 1."""
    kept = [axis for axis in range(data.ndim) if axis not in gone]
    slices = np.transpose(data, (*kept, *gone))
    reduced = np.empty([data.shape[axis] for axis in kept], data.dtype)
    count = prod(data.shape[axis] for axis in gone)
    for k in np.ndindex(reduced.shape):
        store_reduced(reduced, k, slices[k], count if mean else 1)
    return np.expand_dims(reduced, gone)


def store_reduced(reduced: Array, k: tuple[int, ...], elements: Array, divisor: int) -> None:
    """The sum of these elements over the divisor.

    Raises:
        NotExecutable: no text gives the mean.
    """
    if divisor == 0:
        raise NotExecutable("no text gives the mean of no element")
    sum_: Any = total(numbers(elements))
    if format_of(reduced.dtype) is None and divisor != 1:
        raise NotExecutable(f"no text gives the mean of elements of type {reduced.dtype}")
    store(reduced, k, sum_, divisor=divisor)


def fast_reduce_sum(application: Application, data: Array, gone: tuple[int, ...], mean: bool) -> Array:
    """As `reduce_sum`, faster."""
    count = prod(data.shape[axis] for axis in gone)
    narrow = format_of(data.dtype) is not None and data.dtype != np.float64
    if format_of(data.dtype) is None and not mean:
        return np.add.reduce(data, axis=gone, dtype=data.dtype, keepdims=True)
    if not narrow or not count or not gone or not data.size:
        return reduce_sum(data, gone, mean)
    kept = [axis for axis in range(data.ndim) if axis not in gone]
    slices = np.transpose(data, (*kept, *gone)).reshape(-1, count)
    reduced = np.empty(len(slices), data.dtype)
    step, exact = max(1, application.block(SLICE_ELEMENTS) // count), 0
    for start in range(0, len(slices), step):
        part = slice(start, start + step)
        total = total_along_first(slices[part].T)
        reduced[part], open_ = round_total(total, count, float(count if mean else 1), data.dtype)
        for k in (np.flatnonzero(open_) + start).tolist():
            store_reduced(reduced, (k,), slices[k], count if mean else 1)
            exact += 1
    application.count(reduced.size, exact)
    return np.expand_dims(reduced.reshape([data.shape[axis] for axis in kept]), gone)


def axis_reduction(since: int, *, mean: bool) -> tuple[Definition, Definition]:
    """The definition and the fast path of an operator that reduces the axes its node names.

    Args:
        since: the version from which the axes are an input, and an empty list of them has a meaning.
        mean: whether it is the mean, not the sum.
    """

    def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
        gone = reduced_axes(application, since)
        return (without_axes(application, reduce_sum(inputs[0], gone, mean), gone) if gone else inputs[0],)

    def fast_path(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
        gone = reduced_axes(application, since)
        if not gone:
            return (inputs[0],)
        return (without_axes(application, fast_reduce_sum(application, inputs[0], gone, mean), gone),)

    return define, fast_path
