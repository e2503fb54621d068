"""The elements of a matrix product that a cheap bound leaves open: a tighter bound, then the exact sum.

An element whose products are all zeros is +0, or -0 where they all are; no approximation tells these apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.certified import UNIT, decided, nearest
from sonnx.semantics.kernels.totals import to_odd, total_along_first
from sonnx.semantics.kernels.two import two_sum

SLACK = 1 + 2.0**-20
"""More than what is lost when norms, sums of absolute values and bounds are computed in float64, for K up to 2^31."""

Columns = Callable[[Array], Array]
"""Columns of a matrix by their numbers: (K, as many), float64."""

MANY, GATHERED = 32, 1 << 20
"""Open elements from which the tighter bound pays, and products that are added up exactly at a time."""


def bound_factor(count: int, part: int) -> float:
    """The error of a sum in float64 relative to the sum of absolute values.

    Args:
        count: how many products there are.
        part: how many of them are added up at a time: none goes through more additions than these and the parts.
    """
    additions = min(count, part) + -(-count // part)
    return additions * UNIT / (1 - additions * UNIT) * SLACK


def settle(A: Array, columns: Columns, made: Array, factor: float, open_: Array, out: Array) -> int:
    """Give the elements with these flat numbers their values.

    Args:
        A: a matrix, float64, finite, its products with B exact.
        columns: of B, a matrix, the same.
        made: A B in float64.
        factor: its error relative to |A| |B|.
        open_: which elements are open.
        out: A B, rounded once, but for these.

    Returns:
        How many were added up exactly.
    """
    i, j = np.divmod(open_, out.shape[1])
    if len(i) > MANY:
        values, still = _by_absolute_values(A, columns, made, factor, i, j, out.dtype)
        out[i, j] = values
        i, j = i[still], j[still]
    step = max(1, GATHERED // A.shape[1])
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        out[i[some], j[some]] = exact_sums(A[i[some]] * columns(j[some]).T, out.dtype)
    return len(i)


def _by_absolute_values(
    A: Array, columns: Columns, made: Array, factor: float, i: Array, j: Array, kind: np.dtype[Any]
) -> tuple[Array, Array]:
    """Elements rounded by the bound of their own |A| |B|, and which stay open; 0 there says that all products are 0."""
    rows, places = np.unique(i), np.unique(j)
    at = np.searchsorted(rows, i), np.searchsorted(places, j)
    A, B = A[rows], columns(places)
    sums = np.matmul(np.abs(A), np.abs(B))[at]
    values, still = decided(made[i, j], sums * factor, kind)
    zero = sums == 0
    if zero.any():
        values[zero] = _zeros(A, B)[at][zero]
    return values, still & ~zero


def _zeros(A: Array, B: Array) -> Array:
    """For sums of zeros: -0 where each product is, else +0.

    A product is negative where the signs differ; of signs as 1 and -1 the sum of the products then is -K.
    """
    signs = np.copysign(1.0, A).astype(np.float32) @ np.copysign(1.0, B).astype(np.float32)
    return np.where(signs == -A.shape[1], -0.0, 0.0)


def exact_sums(addends: Array, kind: np.dtype[Any]) -> Array:
    """The exact sum of each row of finite float64 numbers, rounded once.

    A sum in two doubles and a bound of its error say on which side of the first double the exact sum lies, mostly.
    """
    made, cut, size = total_along_first(addends.T)
    whole, rest = two_sum(made, cut)
    whole = np.where(size == 0, made, whole)  # nothing was cut off; a zero keeps its sign
    values, error = nearest(to_odd(whole, rest), kind), size * (2 * addends.shape[1] * UNIT)
    places = np.flatnonzero((np.abs(rest) <= error) & (size != 0))  # the sign of the rest is open
    if len(places):
        values[places], still = decided(whole[places], np.abs(rest[places]) + error[places], kind)
        for k in places[still].tolist():
            values[k] = _exact_sum(addends[k], kind)
    return values


def _exact_sum(addends: Array, kind: np.dtype[Any]) -> Any:
    """The exact sum of finite float64 numbers, rounded once.

    math.fsum rounds the exact sum once to float64; the sign of what that cut off is the sign of another exact sum.  If
    the exact sum is 0 it is +0: some addends are not 0.
    """
    row = addends.tolist()
    made = math.fsum(row)
    pair = np.array([made]), np.array([math.fsum([*row, -made])])
    return nearest(to_odd(*pair) + 0.0, kind)[0]
