"""Slice: Y[.., y, ..] = X[.., S' + y * K, ..], S' the start and K the step along each named axis.

SONNX Slice of 2026-08; ONNX Slice-1 to Slice-13.  The data file's `named`, `begins`, `stops` and `stepping` are axes,
starts, ends and steps, counted from the first.  ONNX brings starts and ends into the axis, the profile demands it: for
a positive step [0, d] both, for a negative one [0, d - 1] and [-1, d - 1].
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    X, names = inputs[0], application.names
    at = [slice(None)] * X.ndim
    for axis, start, end, step in zip(names["named"], names["begins"], names["stops"], names["stepping"], strict=True):
        at[axis] = along(X.shape[axis], start, end, step)
    return (X[tuple(at)],)


def along(extent: int, start: int, end: int, step: int) -> slice:
    """The elements of one axis."""
    if step > 0:
        return slice(_between(start, 0, extent), _between(end, 0, extent), step)
    start, end = _between(start, 0, extent - 1), _between(end, -1, extent - 1)
    return slice(start, end if end >= 0 else None, step) if extent else slice(0, 0)


def _between(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


OPERATOR = Operator(name="Slice", exact=True, define=define, kernel=copying_kernel(define), bound=layout.moving(define))
