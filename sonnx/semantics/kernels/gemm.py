"""Gemm, fast: a C with one number for each column is one more row of B' under a column of ones in A'.

Any other C, and factors that are not 1, are added to the product in float64: if the product P is off by at most e, then
alpha P + beta C computed there is off by at most |alpha| e + 4 u (|alpha P| + |beta C|) with u = 2^-53.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.gemm import factors_of, operands, store_element
from sonnx.semantics.kernels import doubles, integers, products
from sonnx.semantics.kernels.certified import UNIT, decided
from sonnx.semantics.kernels.settled import bound_factor
from sonnx.semantics.sums import numbers


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def gemm(inputs: Sequence[Array], out: Array) -> Array:
        A, B, C = operands(application, inputs)
        one = application.names["alpha"] == 1 and (C is None or application.names["beta"] == 1)
        by_column = C is None or C.strides[0] == 0 or len(C) == 1
        if one and format_of(out.dtype) is None:
            integers.product_into(A, B, out)
            out += 0 if C is None else C
        elif one and by_column and 0 not in (A.shape[1], *out.shape):
            application.count(out.size, _with_row(A, B, None if C is None else C[0], out))
        else:
            application.count(out.size, _in_general(application, A, B, C, out))
        return out

    return gemm


def _with_row(A: Array, B: Array, row: Array | None, out: Array) -> int:
    if out.dtype != np.float64:
        return products.product_into(A, B, out, row)
    if row is not None:
        A, B = np.hstack([A, np.ones((len(A), 1))]), np.vstack([B, row])
    return doubles.product_into(A, B, out)


def _in_general(application: Application, A: Array, B: Array, C: Array | None, out: Array) -> int:
    """Any factors, any C, any type; what is open goes to the definition."""
    factors = factors_of(application, A)
    open_ = np.ones(out.shape, np.bool_)
    if format_of(out.dtype) is not None and out.dtype != np.float64 and np.isfinite([float(f) for f in factors]).all():
        made, bound = _approximation(A, B, C, *[float(factor) for factor in factors])
        out[...], open_ = decided(made, bound, out.dtype)
    row, column = cache(lambda i: numbers(A[i])), cache(lambda j: numbers(B[:, j]))
    for i, j in np.argwhere(open_).tolist():
        added = None if C is None else numbers(C[i, j])[0]
        store_element(out, (i, j), row(i), column(j), added, factors)
    return int(open_.sum())


def _approximation(A: Array, B: Array, C: Array | None, alpha: float, beta: float) -> tuple[Array, Array]:
    """The value in float64, and a bound of its error that is never 0, because the sign of a zero is not known."""
    left, right = A.astype(np.float64), B.astype(np.float64)
    made = alpha * products.in_parts(left[None], right[None], (1, len(left), right.shape[1]), A.shape[1])[0]
    norms = np.sqrt(np.einsum("ik,ik->i", left, left)), np.sqrt(np.einsum("kj,kj->j", right, right))
    bound = np.multiply.outer(
        norms[0] * (abs(alpha) * bound_factor(A.shape[1], A.shape[1])), norms[1]
    ) + 4 * UNIT * np.abs(made)
    if C is not None:
        added = beta * C.astype(np.float64)
        made, bound = made + added, bound + 4 * UNIT * np.abs(added)
    return made, bound + np.finfo(np.float64).smallest_subnormal
