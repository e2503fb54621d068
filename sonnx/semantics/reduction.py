"""Sums and means along axes: what ReduceSum, ReduceMean and GlobalAveragePool share.

A mean is the exact sum over the number of elements, rounded once; no text gives one of integers.  Sums of integers wrap
around.  A sum of no element is +0; a mean of none is NaN, as 0 / 0 is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of, patterns
from sonnx.semantics.rounding import nan_of
from sonnx.semantics.sums import numbers, store, total
from sonnx.stops import NotExecutable

INPUTS = (1, 2)
ATTRIBUTES = {"axes": "ints", "keepdims": "int", "noop_with_empty_axes": "int"}


def gone_axes(application: Application, inputs: Sequence[Array | None], since: int) -> tuple[int, ...] | None:
    """The reduced axes, ascending; None where nothing is to be done.

    Args:
        application: the node.
        inputs: the tensor, and from version `since` on the axes.
        since: the operator set from which on the axes are an input.

    Raises:
        NotExecutable: an axis is none of the tensor, or named twice.
    """
    rank = np.ndim(inputs[0])  # type: ignore[arg-type]
    given = inputs[1] if len(inputs) > 1 else None
    stated = given.tolist() if given is not None else application.attribute("axes", [])
    if (given is not None) != (len(inputs) > 1 and application.version >= since) or (
        application.version >= since and "axes" in application.attributes
    ):
        raise NotExecutable(f"the axes are an input from operator set {since} on, and an attribute before")
    if not len(stated):
        return None if application.attribute("noop_with_empty_axes", 0) else tuple(range(rank))
    if any(not -rank <= axis < rank for axis in stated):
        raise NotExecutable(f"the axes {list(stated)} are none of a tensor of rank {rank}")
    gone = sorted(axis % rank for axis in stated)
    if len(set(gone)) < len(gone):
        raise NotExecutable(f"the axes {list(stated)} name one axis twice")
    return tuple(gone)


def without(application: Application, reduced: Array, gone: Sequence[int]) -> Array:
    """The result with the axes removed where keepdims is 0."""
    return reduced if application.attribute("keepdims", 1) else np.squeeze(reduced, tuple(gone))


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
    """The sum of these elements over the divisor."""
    if divisor == 0 and format_of(reduced.dtype) is not None:
        patterns(reduced)[k] = nan_of(reduced.dtype)
        return
    whole: Any = total(numbers(elements))
    if format_of(reduced.dtype) is None and divisor != 1:
        raise NotExecutable(f"the mean of elements of type {reduced.dtype} is given by no text")
    store(reduced, k, whole, divisor=divisor)
