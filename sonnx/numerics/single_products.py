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
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sonnx.numerics.application import Constants
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.certified_rounding import UNIT, certify, certify_singles, half_width
from sonnx.numerics.exact_sums import special_sums
from sonnx.numerics.formats import Array, format_of, patterns
from sonnx.numerics.rounding import nan_of, to_nearest
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

GATHERED_PRODUCTS = 1 << 17
"""Products that are added up exactly at a time."""

FEW_ADDENDS = 1 << 11
"""Addends of sums that Python's numbers add up: numpy's calls take as long."""

TINY = np.finfo(DOUBLE).smallest_subnormal
"""Added to a bound that says nothing about the sign of a zero."""

NEGATIVE_ZERO = np.iinfo(np.int64).min
"""The bit pattern of -0, the least of all."""

CERTIFIED_ELEMENTS = 1 << 16
"""Elements that are rounded at a time: few, so that they stay in the second-level cache."""

_RIGHT, _MADE, _SPARE, _HIGH, _ROWS = (Scratch() for _ in range(5))


def product_into(A: Array, B: Array, out: Array, row: Array | None = None, block: BlockSize = usual_size) -> int:
    """Make out = A B, or A B + row for every row, rounded once.

    Args:
        A: a matrix, or a stack of matrices, of a floating-point type of at most 32 bits.
        B: matrices of the same type, as many.
        out: of the same type.
        row: one number for each column of B.
        block: the size of blocks.

    Returns:
        How many elements were added up exactly.
    """
    if A.ndim == 2:
        A, B, out = A[None], B[None], out[None]
    if 0 in A.shape or out.size == 0:
        out[...] = 0 if row is None else row + row.dtype.type(0)
        return 0
    stack, rows, inner = A.shape
    added = None if row is None else row.astype(DOUBLE)[None, None]
    if stack == 1 and rows < FEW_ROWS and out.size <= RIGHT_ELEMENTS:
        taken = _few_rows(Left(A, block), B, added, out)
        if taken is not None:
            return taken
    matrices, some = max(1, block(RIGHT_ELEMENTS) // B[0].size), max(1, block(LEFT_ELEMENTS) // inner)
    columns, exact = max(1, block(RIGHT_ELEMENTS) // inner), 0
    for s in range(0, stack, matrices):
        here = slice(s, s + matrices)
        for i in range(0, rows, some):
            left = Left(A[here, i : i + some], block)
            for j in range(0, out.shape[2], columns):
                part = slice(j, j + columns)
                right = whole(wide(B[here, :, part]))
                own = None if added is None else added[:, :, part]
                exact += block_into(left, right, out[here, i : i + some, part], own)
    return exact


def wide(B: Array) -> Array:
    """A stack of matrices in float64, in memory that is used again."""
    stack, inner, columns = B.shape
    flat = _RIGHT.array(B.size, DOUBLE)
    if B.strides[1] <= B.strides[2]:
        array = flat.reshape(stack, columns, inner).transpose(0, 2, 1)
    else:
        array = flat.reshape(B.shape)
    np.copyto(array, B)
    return array


class Left:
    """The left operand in float64, with the norm of each row; made once for many right ones.

    `block` is the size of blocks of products with it.
    """

    def __init__(self, A: Array, block: BlockSize = usual_size) -> None:
        self.block = block
        self.values = A if A.dtype == DOUBLE else A.astype(DOUBLE)
        self.norms = np.sqrt(np.vecdot(self.values, self.values))
        self.part = PART if A.shape[1] >= FEW_ROWS else self.values.shape[2]
        self.finite = bool(np.maximum.reduce(self.norms, axis=None, initial=0) < np.inf)


class Norms:
    """The norms of the columns of a stack of matrices, (stack, columns), and what is asked of all together."""

    def __init__(self, values: Array) -> None:
        self.values, self.largest = values, np.maximum.reduce(values, axis=1, keepdims=True)
        self.finite, self.zeros = bool(np.isfinite(self.largest).all()), not values.all()


@dataclass(frozen=True, slots=True)
class Right:
    """The right operand, a stack of matrices in float64; made once for many left ones.

    `pieces` are the matrices cut into groups of rows: (stack, rows, columns).  `columns` gives columns as rows of
    another array, of the numbers of their matrices and their own ones.
    """

    pieces: Sequence[Array]
    norms: Norms
    columns: Callable[[Array, Array], Array]


def whole(B: Array, norms: Norms | None = None) -> Right:
    """A stack of matrices in one piece."""
    return Right([B], norms or Norms(column_norms(B)), lambda s, j: B[0][:, j].T if len(B) == 1 else B[s, :, j])


def constant_right(
    constants: Constants, role: str, arrays: Sequence[Array], A: Array, B: Array, out: Array
) -> Right | None:
    """The right operand, made once for all runs; None where it varies, is large, or is not a float of 32 bits or less.

    Args:
        constants: those of the model.
        role: how B is made of the arrays.
        arrays: what B is made of.
        A: as in `product_into`, with three axes.
        B: the same.
        out: the same.
    """
    small = len(B) == 1 and max(A.size, B.size, out.size) <= RIGHT_ELEMENTS
    if not small or out.dtype == DOUBLE or format_of(out.dtype) is None:
        return None
    return constants.form(role, arrays, B.size * DOUBLE.itemsize, lambda: whole(wide(B).copy(order="K")))


def block_into(left: Left, right: Right, out: Array, added: Array | None = None) -> int:
    """Make out = A B, or A B + added, for stacks of matrices.

    Args:
        left: A.
        right: B, every element one of a type of at most 32 bits.
        out: of that type.
        added: float64, of the shape (stack, rows, 1) or (1, 1, columns).

    Returns:
        How many elements were added up exactly.
    """
    return settled(left, right.columns, [open_block(left, right, out, added)], out, added)


@dataclass(frozen=True, slots=True)
class OpenElements:
    """Elements of a stack of products that are still open, and how many were added up exactly.

    `matrices`, `rows` and `columns` are their places.  `sizes` are products of norms, which times `factor` bound the
    error of the approximations.
    """

    matrices: Array
    rows: Array
    columns: Array
    approximations: Array
    sizes: Array
    factor: float = 0.0
    exact: int = 0


def open_block(left: Left, right: Right, out: Array, added: Array | None) -> OpenElements:
    """As `block_into`, but for the elements that it gives."""
    if left.finite and right.norms.finite and (added is None or np.isfinite(added).all()):
        heights = [piece.shape[1] for piece in right.pieces]
        additions = min(max(heights), left.part) + sum(-(-height // left.part) for height in heights)
        array = in_parts(left.values, right.pieces, out.shape, left.part)
        return _rounded(left, right, array, additions, out, added)
    nowhere = _without_number(left, right)
    patterns(out)[nowhere] = nan_of(out.dtype)
    rest = np.flatnonzero(~nowhere).tolist()
    exact = sum(_with_specials(left.values[s], right, s, added, out[s], left.block) for s in rest)
    none = np.empty(0, np.intp)
    return OpenElements(none, none, none, np.empty(0), np.empty(0), exact=exact)


def _without_number(left: Left, right: Right) -> Array:
    """Of each product whether every element is NaN, because every row of A or every column of B has one."""
    rows = np.asarray(np.isnan(left.values).any(axis=2))
    columns = np.asarray(np.stack([np.isnan(piece).any(axis=1) for piece in right.pieces]).any(axis=0))
    nowhere: Array = np.logical_or(rows.all(axis=1), columns.all(axis=1))
    return nowhere


def _few_rows(left: Left, B: Array, added: Array | None, out: Array) -> int | None:
    """`product_into` of one matrix of few rows, None where a number is not finite; each piece of B is used once."""
    array, norms = _ROWS.array(out.size, DOUBLE).reshape(out.shape), np.empty((1, out.shape[2]))
    step = max(1, left.block(FEW_ROWS_RIGHT_ELEMENTS) // B.shape[1])
    for j in range(0, out.shape[2], step):
        part = slice(j, j + step)
        piece = wide(B[:, :, part])
        np.matmul(left.values, piece, out=array[:, :, part])
        norms[:, part] = column_norms(piece)
    right = Right([B], Norms(norms), lambda _, j: B[0][:, j].T)
    if not (left.finite and right.norms.finite and (added is None or np.isfinite(added).all())):
        return None
    return settled(left, right.columns, [_rounded(left, right, array, B.shape[1], out, added)], out, added)


def _rounded(
    left: Left, right: Right, approximations: Array, additions: int, out: Array, added: Array | None
) -> OpenElements:
    """Approximations of products of finite matrices, rounded; no addend of theirs goes through more additions."""
    norms, factor = right.norms, bound_factor(additions)
    reach = (left.norms * (norms.largest * SLACK))[:, :, None]
    undecided = _undecided(approximations, reach, factor, out, added, left.block(CERTIFIED_ELEMENTS))
    if norms.zeros:
        zero = np.broadcast_to(_zero_columns(left, right, out, added)[:, None], out.shape)
        undecided = undecided[~zero.reshape(-1)[undecided]]
    s, i, j = np.unravel_index(undecided, out.shape)
    return OpenElements(s, i, j, approximations[s, i, j], left.norms[s, i] * norms.values[s, j], factor)


def _undecided(
    approximations: Array, reach: Array, factor: float, out: Array, added: Array | None, block: int
) -> Array:
    """Round approximations into `out`; the flat places of those that an error of `reach` times `factor` leaves open."""
    if out.dtype != SINGLE:
        out[...], open_ = certify(
            approximations if added is None else approximations + added, reach * factor + TINY, out.dtype
        )
        return np.flatnonzero(open_)
    size = 0 if added is None else np.abs(added)
    width = np.asarray(half_width(reach * factor + 2 * UNIT * size, reach + size))
    stack, rows, columns = out.shape
    matrices, some = max(1, block // (rows * columns)), max(1, block // columns)
    high, undecided = _HIGH.array(min(out.size, max(block, columns)), SINGLE), []
    for s in range(0, stack, matrices):
        for i in range(0, rows, rows if matrices > 1 else some):
            part = slice(s, s + matrices), slice(i, i + (rows if matrices > 1 else some))
            target = out[part]
            own = 0.0 if added is None else added if added.shape[1] == 1 else added[part]
            upper_ends = high[: target.size].reshape(target.shape)
            open_ = certify_singles(approximations[part], width[part], target, upper_ends, own)
            if np.count_nonzero(open_):
                undecided.append(np.flatnonzero(open_) + (s * rows + i) * columns)
    return np.concatenate(undecided) if undecided else np.empty(0, np.intp)


def _zero_columns(left: Left, right: Right, out: Array, added: Array | None) -> Array:
    """Give the products with columns of nothing but +0 their values; which columns these are: (stack, columns).

    Each is a sum of zeros: -0 where all of a row is negative, else +0.
    """
    zero: Array = right.norms.values == 0
    if any(piece.dtype != DOUBLE or piece.view(np.int64).min() == NEGATIVE_ZERO for piece in right.pieces):
        s, j = np.nonzero(zero)
        zero[s, j] = right.columns(s, j).astype(DOUBLE).view(np.int64).min(axis=1) != NEGATIVE_ZERO
    sums = np.where(np.signbit(left.values).all(axis=2, keepdims=True), -0.0, 0.0)
    np.copyto(out, (sums if added is None else sums + added).astype(out.dtype), where=zero[:, None])
    return zero


def settled(
    left: Left,
    columns: Callable[[Array, Array], Array],
    blocks: Sequence[OpenElements],
    out: Array,
    added: Array | None,
) -> int:
    """Give the open elements of blocks of A B + added their values; how many elements were added up exactly.

    Args:
        left: A.
        columns: those of B, as in `Right`.
        blocks: their open elements.
        out: the product, rounded once, but for these.
        added: as in `block_into`.
    """
    before = sum(block.exact for block in blocks)
    lists = [(block.matrices, block.rows, block.columns, block.approximations, block.sizes) for block in blocks]
    s, i, j, approximations, sizes = (np.concatenate(row) for row in zip(*lists, strict=True))
    if not len(s):
        return before
    own, factor = None if added is None else np.broadcast_to(added, out.shape)[s, i, j], blocks[0].factor
    approximations = approximations if own is None else approximations + own
    out[s, i, j], still = certify(approximations, sizes * factor + TINY, out.dtype)
    if np.count_nonzero(still) > len(out) * sum(out.shape[1:]):  # more than a product of all rows and columns costs
        sums, zeros = _absolute_sums(left.values, columns, s, i, j)
        values, still = certify(approximations, sums * factor, out.dtype)
        zero = sums == 0
        values[zero] = (zeros if own is None else zeros + own)[zero]
        out[s, i, j], still = values, still & ~zero
    places = np.flatnonzero(still)
    step = max(1, left.block(GATHERED_PRODUCTS) // left.values.shape[2])
    for start in range(0, len(places), step):
        some = places[start : start + step]
        addends, size = left.values[s[some], i[some]] * columns(s[some], j[some]), sizes[some]
        if own is not None:
            addends, size = np.column_stack([addends, own[some]]), size + np.abs(own[some])
        out[s[some], i[some], j[some]] = exact_row_sums(addends, out.dtype, size)
    return before + len(places)


def _absolute_sums(
    A: Array, columns: Callable[[Array, Array], Array], s: Array, i: Array, j: Array
) -> tuple[Array, Array]:
    """The sums of absolute products of elements of A B, and their values where all of these are 0.

    Such an element is -0 where each product is, else +0.  A product is negative where the signs differ; of signs as 1
    and -1 the sum of the products then is -K.
    """
    sums, zeros = np.empty((2, len(s)))
    for matrix in np.unique(s):
        here = np.flatnonzero(s == matrix)
        (rows, own_i), (which, own_j) = (np.unique(array[here], return_inverse=True) for array in (i, j))
        x, y = A[matrix, rows], columns(np.full(len(which), matrix), which).astype(DOUBLE).T
        sums[here] = np.matmul(np.abs(x), np.abs(y))[own_i, own_j]
        if not sums[here].all():
            signs = np.matmul(np.copysign(1.0, x), np.copysign(1.0, y))[own_i, own_j]
            zeros[here] = np.where(signs == -len(y), -0.0, 0.0)
    return sums, zeros


def column_norms(B: Array) -> Array:
    """The norm of each column of a stack of matrices; BLAS is the faster where a column stands in one piece."""
    whole = B.strides[1] == B.itemsize
    norms: Array = np.sqrt(np.vecdot(B.mT, B.mT) if whole else np.einsum("skj,skj->sj", B, B))
    return norms


def in_parts(A: Array, pieces: Sequence[Array], shape: tuple[int, ...], part: int) -> Array:
    """A B in float64, `part` products at a time, in memory that is used again; B in pieces as in `Right`.

    No product goes through more additions than `part` and the number of parts.
    """
    array, spare = (memory.array(prod(shape), DOUBLE).reshape(shape) for memory in (_MADE, _SPARE))
    first = 0
    for piece in pieces:
        height = piece.shape[1]
        for k in range(0, height, part):
            left, right = A[:, :, first + k : first + min(k + part, height)], piece[:, k : k + part]
            if first + k:
                array += np.matmul(left, right, out=spare)
            else:
                np.matmul(left, right, out=array)
        first += height
    return array


def _with_specials(A: Array, right: Right, s: int, added: Array | None, out: Array, block: BlockSize) -> int:
    """One product of matrices with an infinity or a NaN: rows and columns with one by counting, the others as ever."""
    B = np.concatenate([piece[s] for piece in right.pieces])
    if added is not None:  # one more product
        own = added[min(s, len(added) - 1)]
        own, ones = (own, np.ones((1, B.shape[1]))) if own.shape == (len(A), 1) else (np.ones((len(A), 1)), own)
        A, B = np.hstack([A, own]), np.vstack([B, ones])
    rows, columns = (np.isfinite(np.vecdot(array, array)) for array in (A, B.T))
    exact = 0
    if rows.any() and columns.any():
        part = np.empty((1, int(rows.sum()), int(columns.sum())), out.dtype)
        exact = block_into(Left(A[None, rows], block), whole(B[None, :, columns]), part)
        out[np.ix_(rows, columns)] = part[0]
    if not rows.all():
        out[~rows] = special_sums(A[~rows], B, out.dtype)
    if not columns.all():
        out[:, ~columns] = special_sums(A, B[:, ~columns], out.dtype)
    return exact


def bound_factor(additions: int) -> float:
    """The error of a sum in float64 relative to the sum of absolute values; no addend goes through more additions."""
    return additions * UNIT / (1 - additions * UNIT) * SLACK


def exact_row_sums(addends: Array, kind: np.dtype[Any], size: Array | None = None) -> Array:
    """The exact sum of each row of finite float64 numbers, rounded once; `size` is at least that of absolute values.

    Added by halves, no number goes through more additions than twice the digits of their count, which decides most.
    """
    array = addends
    while array.shape[1] > 1:
        half = array.shape[1] // 2
        rest = array[:, 2 * half :]
        array = array[:, :half] + array[:, half : 2 * half]
        if rest.size:
            array[:, -1:] += rest
    size = np.add.reduce(np.abs(addends), axis=1) if size is None else size
    error = size * (2 * addends.shape[1].bit_length() * UNIT * SLACK)
    values, open_ = certify(array[:, 0], error, kind)  # where every number is a zero it is the exact sum, with its sign
    places = np.flatnonzero(open_)
    if len(places) * addends.shape[1] > FEW_ADDENDS:
        values[places] = _sums_in_two_doubles(addends[places], kind)
    else:
        for k in places.tolist():  # zeros add up without an error
            values[k] = _exact_sum(addends[k], kind) if addends[k].any() else array[k, 0]
    return values


def _sums_in_two_doubles(addends: Array, kind: np.dtype[Any]) -> Array:
    """The same; a bound of the error says on which side of the first double the exact sum lies, mostly."""
    array, cut, size = total_along_first(addends.T)
    whole, rest = two_sum(array, cut)
    whole = np.where(size == 0, array, whole)  # nothing was cut off; a zero keeps its sign
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
    number = math.fsum(row)
    pair = np.array([number]), np.array([math.fsum([*row, -number])])
    return to_nearest(to_odd(*pair) + 0.0, kind)[0]
