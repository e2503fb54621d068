"""Matrix products of float64, each element the exact sum of its products rounded once.

Rows of A and columns of B are scaled by powers of two to at most 1 and cut into slices of b bits,

    A = A1 + A2 + .. + AL + rest,   As a multiple of 2^(-b s),   |As| <= 2^(-b (s - 1)),   |rest| < 2^(-b L),

so that K products of two slices add up without an error in float64, in any order, as long as 2 b + log2 K <= 53 (Ozaki,
Ogita, Oishi, Rump, "Error-free transformations of matrix multiplication", 2012).  The products of slices with
s + t <= L + 1 are added without an error but for the last digits of a second float64; the others and the rests amount
to at most K (L + 1) 2^(-b L).  What that leaves open is added up exactly.
"""

from __future__ import annotations

import math

import numpy as np

from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.exact_sums import numbers, products, rounded, special_sums, store, total
from sonnx.numerics.formats import Array, patterns
from sonnx.numerics.summation import two_product, two_sum

SLICES = 4
"""L, the number of slices."""

SECOND_DOUBLE_ERROR = 2.0**-96
"""More than the error of the second float64: ten sums, each with 2^-53 of at most 2^-53 times twice K, K being 1."""

EXACT_EXPONENTS = 400
"""Binary exponents in whose range below 1 a product of two scaled elements has an exact error term."""

PRECISION = 53
"""Bits of a significand of float64."""

GATHERED_PRODUCTS = 1 << 18
"""Products that are added up exactly at a time."""


def product_into(A: Array, B: Array, out: Array, block: BlockSize = usual_size) -> int:
    """Make out = A B for matrices, or stacks of them, of float64.

    Returns:
        How many elements were added up exactly.
    """
    if A.ndim == 2:
        A, B, out = A[None], B[None], out[None]
    if 0 in A.shape or out.size == 0:
        out[...] = 0
        return 0
    return sum(_product(A[s], B[s], out[s], block(GATHERED_PRODUCTS)) for s in range(len(A)))


def _product(A: Array, B: Array, out: Array, block: int) -> int:
    rows, columns = np.isfinite(A).all(axis=1), np.isfinite(B).all(axis=0)
    if not rows.all():
        out[~rows] = special_sums(A[~rows], B, out.dtype)
    if not columns.all():
        out[:, ~columns] = special_sums(A, B[:, ~columns], out.dtype)
    if not rows.any() or not columns.any():
        return 0
    finite_A, finite_B = A[rows], B[:, columns]
    array, open_ = _by_slices(finite_A, finite_B)
    i, j = np.nonzero(open_)
    _exactly(finite_A, finite_B, array, i, j, block)
    out[np.ix_(rows, columns)] = array
    return len(i)


def _scaled(A: Array) -> tuple[Array, Array]:
    """The rows at most 1 in magnitude, and the exponents of two taken out."""
    _, exponents = np.frexp(np.abs(A).max(axis=1))
    return np.ldexp(A, -exponents[:, None]), exponents


def _slices(A: Array, bits: int) -> list[Array]:
    slices, rest = [], A
    for s in range(1, SLICES + 1):
        shift = 1.5 * 2.0 ** (52 - bits * s)  # its last digit is 2^(-bits s): adding it rounds to a multiple of that
        slices.append((rest + shift) - shift)
        rest = rest - slices[-1]
    return slices


def _by_slices(A: Array, B: Array) -> tuple[Array, Array]:
    """A B rounded once, and where that is open; elements near overflow, underflow or 0 are."""
    count = A.shape[1]
    bits = (53 - (count - 1).bit_length()) // 2
    (left, row_exponents), (right, column_exponents) = _scaled(A), _scaled(B.T)
    left_slices, right_slices = _slices(left, bits), [piece.T for piece in _slices(right, bits)]
    high, low = np.zeros((len(A), B.shape[1])), np.zeros((len(A), B.shape[1]))
    for level in range(SLICES):
        for s in range(level + 1):
            high, error = two_sum(high, np.matmul(left_slices[s], right_slices[level - s]))
            low += error
    high, low = two_sum(high, low)
    bound = count * ((SLICES + 1) * 2.0 ** (-bits * SLICES) + SECOND_DOUBLE_ERROR)
    width = bound * (1 + 2.0**-50) + np.abs(low) * 2.0**-51
    low_end, high_end = high + (low - width), high + (low + width)
    exponents = row_exponents[:, None] + column_exponents
    _, own = np.frexp(low_end)
    normal = (own + exponents > -1000) & (own + exponents < 1000)
    return np.ldexp(low_end, exponents), (low_end != high_end) | ~normal | (low_end == 0)


def _exactly(A: Array, B: Array, out: Array, i: Array, j: Array, block: int) -> None:
    """The exact sums at these places."""
    step = max(1, block // A.shape[1])
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        out[i[some], j[some]] = exact_dot_products(A[i[some]], B[:, j[some]].T, block)


def exact_dot_products(x: Array, y: Array, block: int = GATHERED_PRODUCTS) -> Array:
    """The dot product of each pair of rows of float64, rounded once; math.fsum rounds a sum of doubles once.

    Args:
        x: (rows, K), K at least 1.
        y: the same.
        block: how many products are added up at a time.
    """
    exact_dot_products, step = np.empty(len(x)), max(1, block // x.shape[1])
    for start in range(0, len(x), step):
        _add_up(x[start : start + step], y[start : start + step], exact_dot_products[start : start + step])
    return exact_dot_products


def _add_up(x: Array, y: Array, out: Array) -> None:
    finite: Array = np.logical_and(np.isfinite(x).all(axis=1), np.isfinite(y).all(axis=1))
    (left, row_exponents), (right, column_exponents) = _scaled(x), _scaled(y)
    array, errors = two_product(left, right)
    addends = np.concatenate([array, errors], axis=1).tolist()
    least = np.minimum(_least(x) - row_exponents, _least(y) - column_exponents)
    usual: Array = finite & (least > -EXACT_EXPONENTS)  # below it digits of the scaled elements may be lost
    # A sum that is exactly 0 is +0, unless all its products are -0.
    negative_zeros: Array = (((x == 0) | (y == 0)) & (np.signbit(x) != np.signbit(y))).all(axis=1)
    for k, exponent in enumerate((row_exponents + column_exponents).tolist()):
        sum_ = math.fsum(addends[k]) if usual[k] else math.nan
        if sum_ == 0:
            out[k] = -0.0 if negative_zeros[k] else 0.0
        elif usual[k] and -1000 < math.frexp(sum_)[1] + exponent < 1000:
            out[k] = math.ldexp(sum_, exponent)
        elif finite[k] and not negative_zeros[k]:
            sum_of_integers, unit = _integer_sum(x[k], y[k])
            patterns(out)[k] = rounded(sum_of_integers or 0.0, unit, out.dtype)
        else:
            store(out, (k,), total(products(numbers(x[k]), numbers(y[k]))), power=2)


def _integer_sum(x: Array, y: Array) -> tuple[int, int]:
    """The sum of the products of finite elements as an integer, and the binary exponent of its unit."""
    (left, left_exponents), (right, right_exponents) = np.frexp(x), np.frexp(y)
    significands = (np.ldexp(each, PRECISION).astype(np.int64).tolist() for each in (left, right))
    exponents = (left_exponents + right_exponents).tolist()
    addends = [(a * b, exponent) for a, b, exponent in zip(*significands, exponents, strict=True) if a and b]
    least = min((exponent for _, exponent in addends), default=0)
    return sum(product << exponent - least for product, exponent in addends), least - 2 * PRECISION


def _least(values: Array) -> Array:
    """The least binary exponent of an element of each row, zeros aside."""
    _, exponents = np.frexp(values)
    least: Array = np.where(values == 0, 0, exponents).min(axis=1)
    return least
