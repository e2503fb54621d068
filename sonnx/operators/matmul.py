"""MatMul: Y[i, j] = sum over k of A[i, k] * B[k, j]; of n-bit integers congruent to it modulo 2^n.

SONNX MatMul of 2026-08, function; ONNX MatMul-1 to MatMul-13, which refer to numpy.matmul: leading axes are broadcast,
an operand of rank 1 is a row on the left and a column on the right, and that axis is removed from Y.  The exact sum is
rounded once (erratum matmul-order-of-sum); a sum of no product is +0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics import single_products
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.enclosures.products import matmul as bound
from sonnx.numerics.exact_sums import numbers, products, store, total
from sonnx.numerics.formats import Array
from sonnx.numerics.matrix_products import product_into
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of A and B."""
    A, B, shape = stacks(*inputs)
    Y = np.empty((*A.shape[:-1], B.shape[-1]), A.dtype)
    for stack in np.ndindex(Y.shape[:-2]):
        rows, columns = ([numbers(each) for each in matrix] for matrix in (A[stack], B[stack].T))
        for i, j in np.ndindex(Y.shape[-2:]):
            store(Y, (*stack, i, j), total(products(rows[i], columns[j])), power=2)
    return (Y.reshape(shape),)


def stacks(A: Array, B: Array) -> tuple[Array, Array, tuple[int, ...]]:
    """A and B as stacks of matrices of one stack shape, as views, and the shape of Y."""
    rows, columns = A.shape[-2:-1], B.shape[-1:] if B.ndim > 1 else ()
    if A.ndim == B.ndim == 2:
        return A, B, (*rows, *columns)
    left = A[None] if A.ndim == 1 else A
    right = B[:, None] if B.ndim == 1 else B
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (np.broadcast_to(array, (*stack, *array.shape[-2:])) for array in (left, right))
    return left, right, (*stack, *rows, *columns)


def kernel(application: Application) -> Kernel:
    """Stacks of matrix products by `matrix_products.py`."""

    def matmul(inputs: Sequence[Array], out: Array) -> Array:
        A, B, _ = stacks(*inputs)
        if out.size == 0 or A.shape[-1] == 0:
            out[...] = 0
            return out
        if B.strides and all(stride == 0 for stride in B.strides[:-2]) and A.flags.c_contiguous:
            A, B = A.reshape(1, -1, A.shape[-1]), B[(0,) * (B.ndim - 2)][None]  # one matrix for all: a single product
        matrices = out.reshape(-1, *A.shape[-2:-1], B.shape[-1])
        left, right = (array.reshape(-1, *array.shape[-2:]) for array in (A, B))
        prepared = single_products.constant_right(application.constants, "right", inputs[1:], left, right, matrices)
        if prepared is None:
            exact = product_into(left, right, matrices, application.block)
        else:
            exact = single_products.block_into(single_products.Left(left, application.block), prepared, matrices)
        application.count(out.size, exact)
        return out

    return matmul


OPERATOR = Operator(
    name="MatMul",
    associative=True,
    continuous=True,
    may_overflow_inside=True,
    define=define,
    kernel=kernel,
    bound=bound,
)
