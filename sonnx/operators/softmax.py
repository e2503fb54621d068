"""Softmax: Y[i] = e^(X[i] - M) / sum over j of e^(X[j] - M) along the axis, over the reals, rounded once.

SONNX Softmax of 2026-08, section on floats; ONNX Softmax-1 to Softmax-13.  M is the maximum of the slice and changes
nothing over the reals.  A slice with NaN or +Inf is NaN everywhere; else -Inf gives +0, also in a slice of -Inf only
(erratum softmax-all-minus-infinity).  Before version 13 the slice is all axes from the named one on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.certified_rounding import DOUBLE, LONG_DOUBLE, SINGLE, Bound, certify_block, wide_type
from sonnx.numerics.correctly_rounded import (
    INFINITY,
    NAN,
    ZERO,
    from_mpfr,
    is_infinite,
    is_nan,
    round_enclosed,
    rounding_context,
    to_mpfr_list,
)
from sonnx.numerics.elementwise_kernels import LONG_DOUBLE_BOUND, NUMPY_BOUND
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

ONE_AXIS_SINCE = 13
"""The version from which the sum runs along the named axis only."""

SLICE_ELEMENTS = 1 << 15
"""Elements of the slices that are computed together; at least one slice."""

MAX_DIFFERENCE = 256
"""e^-256 divided by any sum is below the least number of float: 2^-150."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
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
        raise NoValue("Softmax.axis-range", f"a tensor of rank {X.ndim} has no axis {axis}")
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
    x = to_mpfr_list(row)
    if any(is_nan(each) or each == INFINITY for each in x):
        return from_mpfr([NAN] * len(x), row.dtype, row.shape)
    of_slice = _SliceShares(x, rounding_context(row.dtype))
    return from_mpfr(map(of_slice.share, x), row.dtype, row.shape)


class _SliceShares:
    """The shares of a slice without NaN and +Inf; equal elements have equal shares."""

    def __init__(self, x: Sequence[Any], once: Any) -> None:
        self.x, self.once, self.largest = x, once, max(x, default=ZERO)
        self.sums: dict[int, tuple[Any, Any]] = {}
        """The ends of the sum of the exponentials, by their digits."""
        self.known: dict[Any, Any] = {}
        """The shares, by the element."""

    def share(self, element: Any) -> Any:
        """The share of an element of the slice."""
        if element not in self.known:
            self.known[element] = ZERO if is_infinite(element) else round_enclosed(self.once, self._enclosing(element))
        return self.known[element]

    def _enclosing(self, element: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        def enclosure(down: Any, up: Any) -> tuple[Any, Any]:
            digits = down.precision
            if digits not in self.sums:
                self.sums[digits] = _total(down, self.x, self.largest), _total(up, self.x, self.largest)
            low, high = self.sums[digits]
            power_below, power_above = (_power(way, element, self.largest) for way in (down, up))
            return down.div(power_below, high), up.div(power_above, low)

        return enclosure


def _total(way: Any, x: Sequence[Any], M: Any) -> Any:
    total = ZERO
    for each in x:
        total = way.add(total, _power(way, each, M))
    return total


def _power(way: Any, x: Any, M: Any) -> Any:
    """e^(x - M), rounded one way; the difference too."""
    return way.exp(way.sub(x, M))


def kernel(application: Application) -> Kernel:
    """Exponentials, sum and quotient in the wider type, some slices at a time.

    X - M is rounded once, relative to itself, so the exponential is off by |X - M| * u more than the function's own
    error, u = 2^-53 or 2^-64.  The sum of n positive terms is off by n * u in any order, and by less than u for each
    term's own |X - M| * e^(X - M), which is below 1.  A share is off by its own exponential's and the sum's error.
    Slices with NaN, +Inf or only -Inf take the exact path.
    """

    def softmax(inputs: Sequence[Any], out: Array) -> Array:
        slices = np.ascontiguousarray(rows(application, inputs[0]))
        Y = np.empty(slices.shape, out.dtype)
        if out.size:
            step = max(1, application.block(SLICE_ELEMENTS) // slices.shape[1])
            exact = sum(_some(slices[k : k + step], Y[k : k + step]) for k in range(0, len(slices), step))
            application.count(out.size, exact)
        np.copyto(out, back(application, Y, out.shape))
        return out

    return softmax


def bound(differences: Array) -> Bound:
    """The error of shares whose X - M are given, one slice in each row.

    In float64 |X - M| counts up to MAX_DIFFERENCE only: beyond it a share is a zero of float, whatever the error.
    """
    roundings = 2 * differences.shape[1] + 2
    if differences.dtype == DOUBLE:
        return Bound(2 * NUMPY_BOUND.relative + (MAX_DIFFERENCE + roundings) * 2.0**-53)
    finite = np.where(np.isfinite(differences), np.abs(differences), 0)  # the share of -Inf is exactly 0
    return Bound(((finite + roundings) * 2.0**-64 + 2 * LONG_DOUBLE_BOUND.relative).reshape(-1))


def _some(X: Array, Y: Array) -> int:
    """The shares of some slices; how many took the exact path."""
    wide = wide_type(Y.dtype)
    if wide is None:
        Y[...] = np.stack([shares(row) for row in X])
        return Y.size
    usual = np.isfinite(np.maximum.reduce(X, axis=1))
    for k in np.nonzero(~usual)[0]:
        Y[k] = shares(X[k])
    uncertain = _approximated(X, Y, usual, wide)
    if wide == DOUBLE and Y.dtype == SINGLE and wide_type(DOUBLE) is not None:  # once more, with more digits
        again = np.nonzero(uncertain.any(axis=1))[0]
        if len(again):
            values = Y[again]
            uncertain[again] = _approximated(X[again], values, usual[again], LONG_DOUBLE)
            Y[again] = values
    for k in np.nonzero(uncertain.any(axis=1))[0]:
        _exactly(X[k], Y[k], np.nonzero(uncertain[k])[0])
    return int(np.count_nonzero(uncertain))


def _approximated(X: Array, Y: Array, usual: Array, wide: np.dtype[Any]) -> Array:
    """The shares of slices that are `usual`, through a wider type; a mask of those that are not certain."""
    x = X.astype(wide)
    np.subtract(x, np.maximum.reduce(x, axis=1, keepdims=True), out=x)
    error = bound(x)
    np.exp(x, out=x)
    np.divide(x, np.add.reduce(x, axis=1, keepdims=True), out=x)
    array = Y if usual.all() else Y.copy()
    undecided = certify_block(x.reshape(-1), error, array.reshape(-1))
    if array is not Y:
        Y[usual] = array[usual]
    if undecided is None:
        return np.zeros(Y.shape, np.bool_)
    return undecided.reshape(Y.shape) & usual[:, None]


def _exactly(x: Array, y: Array, places: Array) -> None:
    """The shares of one slice at some places, by the definition."""
    values = to_mpfr_list(x)
    of_slice = _SliceShares(values, rounding_context(y.dtype))
    y[places] = from_mpfr([of_slice.share(values[place]) for place in places], y.dtype, [len(places)])


OPERATOR = Operator(
    name="Softmax",
    continuous=True,
    may_overflow_inside=True,
    axis_parameter="axis",
    define=define,
    kernel=kernel,
    ends=(0, 1),
    bound=selection.softmax,
)
