"""ArgMax: Y[k] = the first (select_last_index = 0) or last (= 1) j with S_k(j) = max S_k.

S_k is the slice of X along axis.  SONNX ArgMax of 2026-08; ONNX ArgMax-1 to ArgMax-13.

Versions 1 and 11 select the first index.  NaN is the highest
value, so the first (or last) NaN wins.  The ONNX text says nothing of zeros: there the order of Max holds, +0 above
-0, so that X[ArgMax X] = ReduceMax X.  The text of 2026-08 says "usual floating-point order": there both zeros are
equal, and the first (or last) zero of either sign wins (erratum of the profile).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics import order
from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array, format_of, patterns

OPERATOR = "ArgMax"

ZEROS_DIFFER = ("onnx",)
"""The texts of ArgMax under which the order of Max holds for zeros."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, int64, of the shape of X with the axis reduced to 1 or removed.

    Raises:
        NoValue: X has no element along the axis (ArgMax.axis-not-empty).
    """
    (X,), names = inputs, application.names
    Y = argmax(X, normal_axis(X, names["axis"]), last_index(application), equal_zeros(application))
    return (np.expand_dims(Y, names["axis"]) if names["keepdims"] == 1 else Y,)


def equal_zeros(application: Application) -> bool:
    """Whether the text that speaks takes both zeros as equal."""
    return application.text not in ZEROS_DIFFER


def last_index(application: Application) -> int:
    """select_last_index, 0 in versions without it.

    Raises:
        NoValue: it is neither 0 nor 1; no text says what that means.
    """
    last: int = application.names.get("select_last_index", 0)
    if last not in (0, 1):
        raise NoValue("ArgMax.select-last-index-flag", f"select_last_index is {last}")
    return last


def normal_axis(X: Array, axis: int) -> int:
    """The axis counted from the first.

    Raises:
        NoValue: X has no such axis, or no element along it.
    """
    if not -X.ndim <= axis < X.ndim:
        raise NoValue("ArgMax.axis-range", f"the axis {axis} is none of a tensor of rank {X.ndim}")
    if X.shape[axis] == 0:
        raise NoValue("ArgMax.axis-not-empty", f"the axis {axis} of a tensor of shape {X.shape} has no element")
    return axis % X.ndim


def argmax(X: Array, axis: int, last: int, zeros_are_equal: bool) -> Array:
    """Y without the axis: for each slice the index of the best element, elements taken one after another."""
    slices = np.moveaxis(patterns(X), axis, -1)
    Y = np.empty(slices.shape[:-1], np.int64)
    for k in np.ndindex(Y.shape):
        Y[k] = _index(_places(slices[k], X.dtype, zeros_are_equal), last)
    return Y


def _places(S: Array, kind: np.dtype[np.generic], zeros_are_equal: bool) -> list[int]:
    made = format_of(kind)
    if made is None:
        return [int(s) for s in S]
    key = order.equal_zeros_key if zeros_are_equal else order.key
    return [key(int(s), made.sign, made.infinity) for s in S]


def _index(places: list[int], last: int) -> int:
    best = 0
    for j in range(1, len(places)):
        if order.replaces(places[best], places[j], last):
            best = j
    return best
