"""Matrix products of integers, modulo 2 to the number of bits of the type.

Where K |A| |B| stays below 2^53, every partial sum in every order is a whole number that float64 holds, so BLAS adds
without an error.  Elsewhere numpy's integers add up, which wrap around as the definition does.
"""

from __future__ import annotations

import numpy as np

from sonnx.numerics import double_products, matrix_products
from sonnx.numerics.formats import Array, format_of

EXACT = 1 << 53


def product_into(A: Array, B: Array, out: Array) -> None:
    """Make out = A B for matrices, or stacks of them, of one integer type of at least the width of theirs."""
    if A.shape[-1] * _largest(A) * _largest(B) < EXACT:
        made = np.matmul(A.astype(np.float64), B.astype(np.float64))
        out[...] = made.astype(np.int64).astype(out.dtype)
    else:
        np.matmul(A.astype(out.dtype), B.astype(out.dtype), out=out)


def _largest(values: Array) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


# ------------------------------------------------------------------
# Matrix products by the kernel of their element type.


def product_of_any_type(A: Array, B: Array, out: Array) -> int:
    """Make out = A B for matrices, or stacks of them, of one type; how many elements were added up exactly."""
    if format_of(out.dtype) is None:
        product_into(A, B, out)
        return 0
    if out.dtype == np.float64:
        return double_products.product_into(A, B, out)
    return matrix_products.product_into(A, B, out)
