"""Matrix products of any element type: floats rounded once, integers modulo 2 to the number of their bits.

Floats of at most 32 bits are computed by `single_products.py`, float64 by `double_products.py`.  Integers: where
K |A| |B| stays below 2^53, every partial sum in every order is a whole number that float64 holds, so BLAS adds without
an error.  Elsewhere numpy's integers add up, which wrap around as the definition does.
"""

from __future__ import annotations

import numpy as np

from sonnx.numerics import double_products, single_products
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.formats import Array, format_of

EXACT_BELOW = 1 << 53


def product_into(A: Array, B: Array, out: Array, block: BlockSize = usual_size) -> int:
    """Make out = A B for matrices, or stacks of them, of one type; how many elements were added up exactly."""
    if format_of(out.dtype) is None:
        integer_product_into(A, B, out)
        return 0
    if out.dtype == np.float64:
        return double_products.product_into(A, B, out, block)
    return single_products.product_into(A, B, out, block=block)


def integer_product_into(A: Array, B: Array, out: Array) -> None:
    """Make out = A B for matrices, or stacks of them, of one integer type of at least the width of theirs."""
    if A.shape[-1] * _largest(A) * _largest(B) < EXACT_BELOW:
        product = np.matmul(A.astype(np.float64), B.astype(np.float64))
        out[...] = product.astype(np.int64).astype(out.dtype)
    else:
        np.matmul(A.astype(out.dtype), B.astype(out.dtype), out=out)


def reserve_memory() -> None:
    """Have BLAS take the memory that it works in: OpenBLAS ends the process where it cannot have it."""
    large = np.ones((512, 512))  # large enough for all its threads
    np.matmul(large, large)


def _largest(values: Array) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))
