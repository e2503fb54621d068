"""Sums and means along axes: what ReduceSum, ReduceMean and GlobalAveragePool share.

A mean is the exact sum over the number of elements, rounded once; no text gives one of integers, or of no element.
Sums of integers wrap around, and a sum of no element is +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.sums import numbers, store, total
from sonnx.stops import NotExecutable


def gone_axes(application: Application, since: int) -> tuple[int, ...]:
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


def without(application: Application, reduced: Array, gone: Sequence[int]) -> Array:
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
    whole: Any = total(numbers(elements))
    if format_of(reduced.dtype) is None and divisor != 1:
        raise NotExecutable(f"the mean of elements of type {reduced.dtype} is given by no text")
    store(reduced, k, whole, divisor=divisor)
