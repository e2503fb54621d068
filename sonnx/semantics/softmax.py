"""Softmax: Y[i] = e^(X[i] - M) / sum over j of e^(X[j] - M) along the axis, over the reals, rounded once.

SONNX Softmax of 2026-08, section on floats; ONNX Softmax-1 to Softmax-13.  M is the maximum of the slice and changes
nothing over the reals.  A slice with NaN or +Inf is NaN everywhere; else -Inf gives +0, also in a slice of -Inf only
(erratum softmax-all-minus-infinity).  Before version 13 the slice is all axes from the named one on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import INFINITY, NAN, ZERO, array, certain, is_infinite, is_nan, nearest, numbers

OPERATOR = "Softmax"

ONE_AXIS_SINCE = 13
"""The version from which the sum runs along the named axis only."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X = inputs[0]
    slices = rows(application, X)
    Y = np.empty(slices.shape, X.dtype)
    for k in range(len(slices)):
        Y[k] = shares(slices[k])
    return (back(application, Y, X.shape),)


def rows(application: Application, X: Array) -> Array:
    """The slices, one in each row.

    Raises:
        NoValue: X has no such axis (Softmax.axis-range).
    """
    axis = application.names["axis"]
    if not -X.ndim <= axis < X.ndim:
        raise NoValue("Softmax.axis-range", f"the axis {axis} is none of a tensor of rank {X.ndim}")
    if application.version >= ONE_AXIS_SINCE:
        moved = np.moveaxis(X, axis, -1)
        return moved.reshape(_count(moved.shape[:-1]), moved.shape[-1])
    axis %= X.ndim
    return X.reshape(_count(X.shape[:axis]), _count(X.shape[axis:]))


def back(application: Application, Y: Array, shape: Sequence[int]) -> Array:
    """Rows in the places of their slices."""
    if application.version < ONE_AXIS_SINCE:
        return Y.reshape(shape)
    axis = application.names["axis"]
    moved = [*shape]
    moved.append(moved.pop(axis))
    return np.moveaxis(Y.reshape(moved), -1, axis)


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def shares(row: Array) -> Array:
    """The shares of one slice."""
    x, once = numbers(row), nearest(row.dtype)
    if any(is_nan(each) or each == INFINITY for each in x):
        return array([NAN] * len(x), row.dtype, row.shape)
    sums: dict[int, tuple[Any, Any]] = {}
    return array((share(x, i, once, sums) for i in range(len(x))), row.dtype, row.shape)


def share(x: Sequence[Any], i: int, once: Any, sums: dict[int, tuple[Any, Any]]) -> Any:
    """The share of element i of a slice without NaN and +Inf; `sums` keeps the sums of a slice by their digits."""
    if is_infinite(x[i]):
        return ZERO
    M = max(x)

    def enclosure(down: Any, up: Any) -> tuple[Any, Any]:
        digits = down.precision
        if digits not in sums:
            sums[digits] = _total(down, x, M), _total(up, x, M)
        low, high = sums[digits]
        return down.div(_power(down, x[i], M), high), up.div(_power(up, x[i], M), low)

    return certain(once, enclosure)


def _total(way: Any, x: Sequence[Any], M: Any) -> Any:
    total = ZERO
    for each in x:
        total = way.add(total, _power(way, each, M))
    return total


def _power(way: Any, x: Any, M: Any) -> Any:
    """e^(x - M), rounded one way; the difference too."""
    return way.exp(way.sub(x, M))
