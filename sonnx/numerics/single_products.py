"""Matrix products of floats of at most 32 bits, each element the exact sum of its products rounded once.

The elements of a float32 or 16-bit matrix are exact in float64, and so is the product of two: 48 digits.  BLAS adds K
of them in some order, with fused operations or without, each addition with a relative error of at most u = 2^-53.  For
every order the sum of products is off by at most

    gamma * sum over k of |A[i, k]| |B[k, j]|  <=  gamma * |A[i, :]|_2 |B[:, j]|_2,   gamma = K u / (1 - K u)

(Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1; Cauchy and Schwarz).  Nothing
overflows and nothing underflows: products lie between 2^-298 and 2^256.  `certified_rounding.py` decides the rounding.

The largest norm of a column stands for all at first.  An element that this leaves open gets the norm of its own column,
and, where many are open, the sum of its own absolute products; what is still open is added up exactly.  An element
whose products are all zeros is +0, or -0 where they all are; no approximation tells these apart.  Rows and columns with
an infinity or a NaN go to `exact_sums.special_sums`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.numerics.application import Constants
from sonnx.numerics.certified_rounding import UNIT, certify, certify_singles, half_width
from sonnx.numerics.exact_sums import special_sums
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.rounding import to_nearest
from sonnx.numerics.scratch import Scratch
from sonnx.numerics.summation import to_odd, total_along_first, two_sum

PART = 256
"""Products that are added up at a time: few, for a small bound."""

FEW_ROWS = 16
"""Rows of A below which all products are added up at once, because BLAS is slow on short matrices."""

RIGHT_ELEMENTS, LEFT_ELEMENTS = 1 << 20, 1 << 22
"""Elements of a block of B, and of a matrix A, that are converted at once."""

FEW_ROWS_RIGHT_ELEMENTS = 1 << 17
"""Elements of a block of B for few rows: it is used once, so it must not leave the second-level cache before."""

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)

SLACK = 1 + 2.0**-20
"""More than what is lost when norms, sums of absolute values and bounds are computed in float64, for K up to 2^31."""

TIGHTENED_SHARE = 256
"""The sums of absolute products are computed for one open element of as many: adding up exactly is as much slower."""

SMALL = 1 << 12
"""Elements of an array below which memory of its own costs less than finding memory that is used again."""

GATHERED_PRODUCTS = 1 << 17
"""Products that are added up exactly at a time."""

TINY = np.finfo(DOUBLE).smallest_subnormal
"""Added to a bound that says nothing about the sign of a zero."""

NEGATIVE_ZERO = np.iinfo(np.int64).min
"""The bit pattern of -0, the least of all."""

Columns = Callable[[Array | slice], Array]
"""Columns of matrices by their numbers: (stack, K, as many), float64."""

_RIGHT, _MADE, _SPARE, _HIGH, _ROWS = (Scratch() for _ in range(5))


def product_into(A: Array, B: Array, out: Array, row: Array | None = None) -> int:
    """Make out = A B, or A B + row for every row, rounded once.

    Args:
        A: a matrix, or a stack of matrices, of a floating-point type of at most 32 bits.
        B: matrices of the same type, as many.
        out: of the same type.
        row: one number for each column of B.

    Returns:
        How many elements were added up exactly.
    """
    if A.ndim == 2:
        A, B, out = A[None], B[None], out[None]
    if 0 in A.shape or out.size == 0:
        out[...] = 0 if row is None else row + row.dtype.type(0)
        return 0
    stack, rows, inner = A.shape
    if stack == 1 and rows < FEW_ROWS and out.size <= RIGHT_ELEMENTS:
        taken = _few_rows(Left(A, row is not None), B, row, out)
        if taken is not None:
            return taken
    matrices, some = max(1, RIGHT_ELEMENTS // B[0].size), max(1, LEFT_ELEMENTS // inner)
    columns, exact = max(1, RIGHT_ELEMENTS // inner), 0
    for s in range(0, stack, matrices):
        here = slice(s, s + matrices)
        for i in range(0, rows, some):
            left = Left(A[here, i : i + some], row is not None)
            for j in range(0, out.shape[2], columns):
                part = slice(j, j + columns)
                right = wide(B[here, :, part], None if row is None else row[part])
                exact += block_into(left, right, out[here, i : i + some, part])
    return exact


def wide(B: Array, row: Array | None) -> Array:
    """A stack of matrices in float64, in memory that is used again, with one more row."""
    stack, inner, columns = B.shape
    height = inner + (row is not None)
    flat = _RIGHT.array(stack * height * columns, DOUBLE)
    if B.strides[1] <= B.strides[2]:
        made = flat.reshape(stack, columns, height).transpose(0, 2, 1)
    else:
        made = flat.reshape(stack, height, columns)
    np.copyto(made[:, :inner], B)
    if row is not None:
        made[:, inner] = row
    return made


class Left:
    """The left operand in float64, with the norm of each row; made once for many right ones."""

    def __init__(self, A: Array, one: bool = False) -> None:
        self.values = A if A.dtype == DOUBLE else A.astype(DOUBLE)
        if one:
            self.values = np.concatenate([self.values, np.ones((*A.shape[:2], 1))], axis=2)
        self.norms = np.sqrt(np.vecdot(self.values, self.values))
        self.part = PART if A.shape[1] >= FEW_ROWS else self.values.shape[2]
        self.finite = bool(np.maximum.reduce(self.norms, axis=None, initial=0) < np.inf)


class Norms:
    """The norms of the columns of a stack of matrices, (stack, columns), and what is asked of all together."""

    def __init__(self, values: Array) -> None:
        self.values, self.largest = values, np.maximum.reduce(values, axis=1, keepdims=True)
        self.finite, self.zeros = bool(np.isfinite(self.largest).all()), not values.all()


class Right:
    """A matrix as the right operand in float64, with the norm of each column; made once for many left ones."""

    def __init__(self, B: Array, row: Array | None) -> None:
        self.values, self.one = wide(B, row).copy(order="K"), row is not None
        self.norms = Norms(column_norms(self.values))

    def product_into(self, A: Array, out: Array) -> int:
        """As `product_into` of this module."""
        return block_into(Left(A, self.one), self.values, out, self.norms)


def constant_right(
    constants: Constants, role: str, arrays: Sequence[Array], A: Array, B: Array, out: Array, row: Array | None = None
) -> Right | None:
    """The right operand, made once for all runs; None where it varies, is large, or is not a float of 32 bits or less.

    Args:
        constants: those of the model.
        role: how B and the row are made of the arrays.
        arrays: what B and the row are made of.
        A: as in `product_into`, with three axes.
        B: the same.
        out: the same.
        row: the same.
    """
    small = len(B) == 1 and max(A.size, B.size, out.size) <= RIGHT_ELEMENTS
    if not small or out.dtype == DOUBLE or format_of(out.dtype) is None:
        return None
    return constants.form(role, arrays, B.size * DOUBLE.itemsize, lambda: Right(B, row))


def block_into(left: Left, B: Array, out: Array, norms: Norms | None = None) -> int:
    """Make out = A B for stacks of matrices; B is float64 and finite in its products.

    Args:
        left: A.
        B: float64, every element one of a type of at most 32 bits.
        out: of that type.
        norms: those of B.

    Returns:
        How many elements were added up exactly.
    """
    made = in_parts(left.values, B, out.shape, left.part)
    norms = norms or Norms(column_norms(B))
    if not (left.finite and norms.finite):
        return sum(_with_specials(left.values[s], B[s], left.norms[s], norms.values[s], out[s]) for s in range(len(B)))
    return _rounded(left, lambda which: B[:, :, which], made, norms, out)


def _few_rows(left: Left, B: Array, row: Array | None, out: Array) -> int | None:
    """`product_into` of one matrix of few rows, None where a number is not finite; each piece of B is used once."""
    made, norms = _ROWS.array(out.size, DOUBLE).reshape(out.shape), np.empty((1, out.shape[2]))
    step = max(1, FEW_ROWS_RIGHT_ELEMENTS // B.shape[1])

    def columns(which: Array | slice) -> Array:
        return wide(B[:, :, which], None if row is None else row[which])

    for j in range(0, out.shape[2], step):
        part = slice(j, j + step)
        right = columns(part)
        np.matmul(left.values, right, out=made[:, :, part])
        norms[:, part] = column_norms(right)
    found = Norms(norms)
    return _rounded(left, columns, made, found, out) if left.finite and found.finite else None


def _rounded(left: Left, columns: Columns, made: Array, norms: Norms, out: Array) -> int:
    """Approximations of products of finite matrices, rounded; how many elements were added up exactly."""
    factor = bound_factor(left.values.shape[2], left.part)
    reach = (left.norms * (norms.largest * SLACK))[:, :, None]
    if out.dtype == SINGLE:
        high = np.empty_like(out) if out.size < SMALL else _HIGH.array(out.size, SINGLE).reshape(out.shape)
        undecided = certify_singles(made, half_width(reach * factor, reach), out, high)
    else:
        out[...], undecided = certify(made, reach * factor + TINY, out.dtype)
    if norms.zeros:
        undecided &= ~_zero_columns(left.values, columns, norms.values, out)[:, None]
    if not np.count_nonzero(undecided):
        return 0
    at = s, i, j = np.unravel_index(np.flatnonzero(undecided), out.shape)
    out[at], still = certify(made[at], left.norms[s, i] * norms.values[s, j] * factor + TINY, out.dtype)
    return _resolve(left.values, columns, made, factor, (s[still], i[still], j[still]), out) if still.any() else 0


def _zero_columns(A: Array, columns: Columns, norms: Array, out: Array) -> Array:
    """Give the products with columns of nothing but +0 their values; which columns these are: (stack, columns).

    Each is a sum of zeros: -0 where all of a row is negative, else +0.
    """
    zero: Array = norms == 0
    some = np.flatnonzero(zero.any(axis=0))
    places = some if 2 * len(some) <= norms.shape[1] else slice(None)
    patterns = columns(places).view(np.int64)
    if patterns.min() == NEGATIVE_ZERO:
        zero[:, places] &= patterns.min(axis=1) != NEGATIVE_ZERO
    sums = np.where(np.signbit(A).all(axis=2, keepdims=True), -0.0, 0.0)
    np.copyto(out, sums.astype(out.dtype), where=zero[:, None])
    return zero


def _resolve(
    A: Array, columns: Columns, made: Array, factor: float, open_: tuple[Array, Array, Array], out: Array
) -> int:
    """Give the open elements of products of finite matrices their values; how many were added up exactly.

    Args:
        A: a stack of matrices, float64, their products with B exact.
        columns: of B.
        made: A B in float64.
        factor: its error relative to |A| |B|.
        open_: the indices of the open elements.
        out: A B, rounded once, but for these.
    """
    s, i, j = open_
    if len(s) * TIGHTENED_SHARE > out.size:
        places, j_here = np.unique(j, return_inverse=True)
        B = columns(places)
        sums = np.matmul(np.abs(A), np.abs(B))[s, i, j_here]
        values, still = certify(made[s, i, j], sums * factor, out.dtype)
        zero = sums == 0
        if zero.any():
            values[zero] = _zeros(A, B)[s, i, j_here][zero]
        out[s, i, j] = values
        still &= ~zero
        s, i, j = s[still], i[still], j[still]
    step = max(1, GATHERED_PRODUCTS // A.shape[2])
    for start in range(0, len(s), step):
        some = slice(start, start + step)
        B = columns(j[some])
        addends = A[s[some], i[some]] * (B[0].T if len(B) == 1 else B[s[some], :, np.arange(B.shape[2])])
        out[s[some], i[some], j[some]] = exact_row_sums(addends, out.dtype)
    return len(s)


def column_norms(B: Array) -> Array:
    """The norm of each column of a stack of matrices; BLAS is the faster where a column stands in one piece."""
    whole = B.strides[1] == B.itemsize
    norms: Array = np.sqrt(np.vecdot(B.mT, B.mT) if whole else np.einsum("skj,skj->sj", B, B))
    return norms


def in_parts(A: Array, B: Array, shape: tuple[int, ...], part: int) -> Array:
    """A B in float64, `part` products at a time, in memory that is used again.

    No product goes through more additions than `part` and the number of parts: K may be that number in the bound.
    """
    if A.shape[2] <= part and prod(shape) < SMALL:
        product: Array = np.matmul(A, B)
        return product
    made, spare = (memory.array(prod(shape), DOUBLE).reshape(shape) for memory in (_MADE, _SPARE))
    np.matmul(A[:, :, :part], B[:, :part], out=made)
    for k in range(part, A.shape[2], max(1, part)):
        made += np.matmul(A[:, :, k : k + part], B[:, k : k + part], out=spare)
    return made


def _with_specials(A: Array, B: Array, row_norms: Array, column_norms: Array, out: Array) -> int:
    """One product of matrices with an infinity or a NaN: rows and columns with one by counting, the others as ever."""
    rows, columns = np.isfinite(row_norms), np.isfinite(column_norms)
    exact = 0
    if rows.any() and columns.any():
        part = np.empty((1, int(rows.sum()), int(columns.sum())), out.dtype)
        exact = block_into(Left(A[None, rows]), B[None, :, columns], part)
        out[np.ix_(rows, columns)] = part[0]
    if not rows.all():
        out[~rows] = special_sums(A[~rows], B, out.dtype)
    if not columns.all():
        out[:, ~columns] = special_sums(A, B[:, ~columns], out.dtype)
    return exact


def bound_factor(count: int, part: int) -> float:
    """The error of a sum in float64 relative to the sum of absolute values.

    Args:
        count: how many products there are.
        part: how many of them are added up at a time: none goes through more additions than these and the parts.
    """
    additions = min(count, part) + -(-count // max(1, part))
    return additions * UNIT / (1 - additions * UNIT) * SLACK


def _zeros(A: Array, B: Array) -> Array:
    """For sums of zeros: -0 where each product is, else +0.

    A product is negative where the signs differ; of signs as 1 and -1 the sum of the products then is -K.
    """
    signs = np.copysign(1.0, A).astype(np.float32) @ np.copysign(1.0, B).astype(np.float32)
    return np.where(signs == -A.shape[-1], -0.0, 0.0)


def exact_row_sums(addends: Array, kind: np.dtype[Any]) -> Array:
    """The exact sum of each row of finite float64 numbers, rounded once.

    Added by halves, no number goes through more additions than twice the digits of their count, which decides most.
    """
    made = addends
    while made.shape[1] > 1:
        half = made.shape[1] // 2
        rest = made[:, 2 * half :]
        made = made[:, :half] + made[:, half : 2 * half]
        if rest.size:
            made[:, -1:] += rest
    error = np.add.reduce(np.abs(addends), axis=1) * (2 * addends.shape[1].bit_length() * UNIT * SLACK)
    values, open_ = certify(made[:, 0], error, kind)  # where every number is a zero it is the exact sum, with its sign
    places = np.flatnonzero(open_)
    if len(places):
        values[places] = _sums_in_two_doubles(addends[places], kind)
    return values


def _sums_in_two_doubles(addends: Array, kind: np.dtype[Any]) -> Array:
    """The same; a bound of the error says on which side of the first double the exact sum lies, mostly."""
    made, cut, size = total_along_first(addends.T)
    whole, rest = two_sum(made, cut)
    whole = np.where(size == 0, made, whole)  # nothing was cut off; a zero keeps its sign
    values, error = to_nearest(to_odd(whole, rest), kind), size * (2 * addends.shape[1] * UNIT)
    places = np.flatnonzero((np.abs(rest) <= error) & (size != 0))  # the sign of the rest is open
    if len(places):
        values[places], still = certify(whole[places], np.abs(rest[places]) + error[places], kind)
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
    return to_nearest(to_odd(*pair) + 0.0, kind)[0]
