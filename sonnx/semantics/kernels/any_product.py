"""Matrix products by the kernel of their element type."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels import doubles, integers, products


def product_of_any_type(A: Array, B: Array, out: Array) -> int:
    """Make out = A B for matrices, or stacks of them, of one type; how many elements were added up exactly."""
    if format_of(out.dtype) is None:
        integers.product_into(A, B, out)
        return 0
    if out.dtype == np.float64:
        return doubles.product_into(A, B, out)
    return products.product_into(A, B, out)
