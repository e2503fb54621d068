"""Sums of products among which is an infinity or a NaN: which of NaN, +inf and -inf, by counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.formats import Array
from sonnx.numerics.rounding import grid_of, nan_of

Pairs = list[tuple[Array, Array]]


def special_sums(A: Array, B: Array, kind: np.dtype[Any]) -> Array:
    """The elements of A B, each of which has an infinity or a NaN among its factors, in the type.

    NaN, 0 * inf and inf - inf make NaN; else the sum is the infinity that occurs.
    """
    nan: Array = np.logical_or.outer(np.isnan(A).any(axis=1), np.isnan(B).any(axis=0))
    nan |= _occurs([(np.isinf(A), B == 0), (A == 0, np.isinf(B))])
    up, down, positive, negative = _signs(A)
    top, bottom, above, below = _signs(B)
    rising = _occurs([(up, above), (down, below), (positive, top), (negative, bottom)])
    falling = _occurs([(up, below), (down, above), (negative, top), (positive, bottom)])
    result = np.where(rising, np.inf, -np.inf).astype(kind)
    result.view(grid_of(kind).made.unsigned)[nan | (rising & falling)] = nan_of(kind)
    return result


def _signs(values: Array) -> tuple[Array, Array, Array, Array]:
    """Where the elements are inf, -inf, above 0, below 0."""
    infinite, above, below = np.isinf(values), values > 0, values < 0
    return infinite & above, infinite & below, above, below


def _occurs(pairs: Pairs) -> Array:
    """Where one of the pairs holds for some k: A[i, k] and B[k, j]."""
    left = np.concatenate([a for a, _ in pairs], axis=1).astype(np.float32)
    right = np.concatenate([b for _, b in pairs], axis=0).astype(np.float32)
    found: Array = left @ right > 0
    return found
