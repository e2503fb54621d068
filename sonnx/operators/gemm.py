"""Gemm: Y = alpha * A' * B' + beta * C, A' and B' being A and B, transposed where transA and transB say so.

SONNX Gemm of 2026-08 (a draft over the reals, with alpha = beta = 1 and nothing transposed); ONNX Gemm-1 to Gemm-13.
C is broadcast to the shape of Y; left out it adds nothing.  The exact value is rounded once (erratum
rounding-not-named).  Integers wrap around, and are scaled by whole numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics import double_products, matrix_products, single_products
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.blocks import BlockSize
from sonnx.numerics.certified_rounding import UNIT, certify
from sonnx.numerics.enclosures.products import gemm as bound
from sonnx.numerics.exact_sums import Number, in_units_of_products, numbers, products, store, times, total
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.single_products import Left, Right, block_into, bound_factor, constant_right
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the operands."""
    A, B, C = operands(application, inputs)
    factors = factors_of(application, A)
    rows, columns = [numbers(row) for row in A], [numbers(column) for column in B.T]
    addends = None if C is None else numbers(C)
    Y = np.empty((len(rows), len(columns)), A.dtype)
    for number, (i, j) in enumerate(np.ndindex(Y.shape)):
        added = None if addends is None else addends[number]
        store_element(Y, (i, j), rows[i], columns[j], added, factors)
    return (Y,)


def operands(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, Array, Array | None]:
    """A' and B' as views, and C broadcast to the shape of Y, None where it is left out.

    Raises:
        NotExecutable: C has another shape and the version broadcasts only where an attribute says so.
    """
    names = application.names
    (A, B), [C] = required(inputs, 2), optional(inputs, 2)
    A, B = A.T if names["transA"] else A, B.T if names["transB"] else B
    shape = A.shape[0], B.shape[1]
    if C is not None and C.shape != shape and application.parameter("broadcast") == 0:
        raise NotExecutable(f"C has the shape {list(C.shape)}, not {list(shape)}, and the attribute broadcast is 0")
    return A, B, None if C is None else np.broadcast_to(C, shape)


def factors_of(application: Application, A: Array) -> tuple[Fraction | float, Fraction | float]:
    """The factors alpha and beta, exactly where they are finite and not 0, else as floats.

    Raises:
        NotExecutable: integers are to be scaled by another number than an integer; no text says what that gives.
    """
    written = tuple(float(application.names[name]) for name in ("alpha", "beta"))
    exact = tuple(Fraction(number) if np.isfinite(number) and number else number for number in written)
    if format_of(A.dtype) is None and any(number != int(number) if np.isfinite(number) else True for number in written):
        raise NotExecutable(f"integers cannot be scaled by alpha = {written[0]} and beta = {written[1]}")
    return exact[0], exact[1]


def store_element(
    Y: Array,
    index: tuple[int, int],
    row: Sequence[Number],
    column: Sequence[Number],
    added: Number | None,
    factors: tuple[Fraction | float, Fraction | float],
) -> None:
    """Y[i, j] = alpha * sum + beta * C[i, j], with the factors brought to one denominator."""
    denominator = math.lcm(*[factor.denominator for factor in factors if isinstance(factor, Fraction)])
    scale_sum, scale_added = (
        int(factor * denominator) if isinstance(factor, Fraction) else factor for factor in factors
    )
    value = times(scale_sum, total(products(row, column)))
    if added is not None:
        value = total([value, times(scale_added, in_units_of_products(added, Y.dtype))])
    store(Y, index, value, power=2, divisor=denominator)


def kernel(application: Application) -> Kernel:
    """A C with one number for each column is one more row of B' under a column of ones in A'.

    Any other C, and factors that are not 1, are added to the product in float64: if the product P is off by at most e,
    then alpha P + beta C computed there is off by at most |alpha| e + 4 u (|alpha P| + |beta C|) with u = 2^-53.
    """

    def gemm(inputs: Sequence[Array], out: Array) -> Array:
        A, B, C = operands(application, inputs)
        unscaled = application.names["alpha"] == 1 and (C is None or application.names["beta"] == 1)
        by_column = C is None or C.strides[0] == 0 or len(C) == 1
        if unscaled and format_of(out.dtype) is None:
            matrix_products.integer_product_into(A, B, out)
            out += 0 if C is None else C
        elif unscaled and by_column and 0 not in (A.shape[1], *out.shape):
            row, role = None if C is None else C[0], "right, transposed" if application.names["transB"] else "right"
            prepared = constant_right(application.constants, role, inputs[1:2], A[None], B[None], out[None])
            exact = _with_row(A, B, row, out, prepared, application.block)
            application.count(out.size, exact)
        else:
            application.count(out.size, _in_general(application, A, B, C, out))
        return out

    return gemm


def _with_row(A: Array, B: Array, row: Array | None, out: Array, prepared: Right | None, block: BlockSize) -> int:
    if prepared is not None:
        added = None if row is None else row.astype(np.float64)[None, None]
        return block_into(Left(A[None], block), prepared, out[None], added)
    if out.dtype != np.float64:
        return single_products.product_into(A, B, out, row, block)
    if row is not None:
        A, B = np.hstack([A, np.ones((len(A), 1))]), np.vstack([B, row])
    return double_products.product_into(A, B, out, block)


def _in_general(application: Application, A: Array, B: Array, C: Array | None, out: Array) -> int:
    """Y for any factors, C and type; elements that the approximation leaves open go to the definition."""
    factors = factors_of(application, A)
    open_ = np.ones(out.shape, np.bool_)
    if format_of(out.dtype) is not None and out.dtype != np.float64 and np.isfinite([float(f) for f in factors]).all():
        array, bound = _approximation(A, B, C, *[float(factor) for factor in factors])
        out[...], open_ = certify(array, bound, out.dtype)
    row, column = cache(lambda i: numbers(A[i])), cache(lambda j: numbers(B[:, j]))
    for i, j in np.argwhere(open_).tolist():
        added = None if C is None else numbers(C[i, j])[0]
        store_element(out, (i, j), row(i), column(j), added, factors)
    return int(open_.sum())


def _approximation(A: Array, B: Array, C: Array | None, alpha: float, beta: float) -> tuple[Array, Array]:
    """The value in float64, and a bound of its error that is never 0, because the sign of a zero is not known."""
    left, right = A.astype(np.float64), B.astype(np.float64)
    approximation = alpha * np.matmul(left, right)
    norms = np.sqrt(np.einsum("ik,ik->i", left, left)), np.sqrt(np.einsum("kj,kj->j", right, right))
    bound = np.multiply.outer(norms[0] * (abs(alpha) * bound_factor(A.shape[1] + 1)), norms[1]) + 4 * UNIT * np.abs(
        approximation
    )
    if C is not None:
        added = beta * C.astype(np.float64)
        approximation, bound = approximation + added, bound + 4 * UNIT * np.abs(added)
    return approximation, bound + np.finfo(np.float64).smallest_subnormal


OPERATOR = Operator(name="Gemm", continuous=True, may_overflow_inside=True, define=define, kernel=kernel, bound=bound)
