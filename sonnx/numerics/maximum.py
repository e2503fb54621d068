"""The maximum of arrays as Max orders it, at the speed of memory: what Max, Min and MaxPool share.

The order is that of `numerics/order.py`; of several NaNs the first operand's is the result, bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sonnx.numerics.blocks import BlockSize, block_pieces, merged, usual_size
from sonnx.numerics.formats import Array, Format, format_of
from sonnx.numerics.numpy_trials import maximum_keeps_the_first_nan
from sonnx.numerics.scratch import Scratch

Combine = Callable[[Sequence[Array], Array], None]
"""Fills an array with the maximum of arrays that are broadcastable to its shape."""

MAX_UNBLOCKED_ELEMENTS = 8192
"""Elements up to which blocks do not pay."""

MAX_REPEATED, MIN_REPEATED = 16384, 1024
"""How often an element is written out: at most (numpy would copy again what its buffers hold), and at least."""

_known: dict[np.dtype[Any], tuple[Combine, int]] = {}

_SIGNS, _LEAST, _NEGATIVE = Scratch(), Scratch(), Scratch()
_ROWS: defaultdict[int, Scratch] = defaultdict(Scratch)
"""The memory of the repeated elements of each operand."""


def fast_maximum(X: Sequence[Array], out: Array, block: BlockSize = usual_size) -> Array:
    """Y in `out`, which has the broadcast shape and the type of X and is C-contiguous.

    Integers: np.maximum.  float and double: np.maximum gives the right element but for the sign of a zero; only a block
    whose result holds -0 (the least integer of its width) gets

        Y = Y and (the sign bits that all operands share, and all other bits):

    a zero is -0 only if every operand is negative; a negative maximum has only negative operands.  float16 and
    bfloat16, where np.maximum has no vector code: on the integers of the width, S the largest and M the least over the
    operands,

        Y = S if S >= 0 else M = S xor ((S xor M) and (S shifted right by all but its sign)):

    a positive value is ordered like its integer, a negative one against it.  A block with a NaN gets the first one.

    Raises:
        ValueError: `out` has another shape, or the shapes of X are not broadcastable.
    """
    if out.shape not in [x.shape for x in X] and (shape := np.broadcast_shapes(*[x.shape for x in X])) != out.shape:
        raise ValueError(f"the maximum has the shape {shape}, not {out.shape}")
    if len(X) == 1 or out.size == 0:
        np.copyto(out, X[0])
        return out
    combine, most = _known.get(out.dtype) or _combine(out.dtype)
    count = block(most)
    if out.size <= block(MAX_UNBLOCKED_ELEMENTS):
        combine(X, out)
    elif all(x.shape == out.shape and x.flags.c_contiguous and x.flags.aligned for x in X):
        _flat([x.reshape(-1) for x in X], out.reshape(-1), combine, count)
    else:
        _general(X, out, combine, count)
    return out


def _combine(kind: np.dtype[Any]) -> tuple[Combine, int]:
    """What computes a block of a type, and how many elements a block has."""
    number_format = format_of(kind)
    if number_format is None:
        combine_and_size: tuple[Combine, int] = fold, 1 << 18
    elif kind.itemsize > 2 and maximum_keeps_the_first_nan(kind):
        combine_and_size = _with_zeros(number_format), 1 << 18
    else:
        combine_and_size = _by_integers(number_format), 1 << 17
    _known[kind] = combine_and_size
    return combine_and_size


def _flat(X: Sequence[Array], out: Array, combine: Combine, count: int) -> None:
    if combine is fold:
        count = out.size  # one pass over the result
    for start in range(0, out.size, count):
        part = slice(start, start + count)
        combine([x[part] for x in X], out[part])


def _general(X: Sequence[Array], out: Array, combine: Combine, count: int) -> None:
    if len(X) == 2 and any(x.size <= MAX_REPEATED and bool((x != 0).all()) for x in X):
        combine = _fold_if_no_zeros(out.dtype) or combine
    if combine is fold and (
        out.itemsize == 8 or max(_stationary(x, out.shape) for x in X) <= min(count, np.getbufsize())
    ):
        fold(X, out)
        return
    shape, Z = merged(X, out.shape)
    target = out.reshape(shape)
    if combine is fold:
        _folded(Z, target, count)
        return
    for pieces, piece in block_pieces(Z, target, count):
        combine(pieces, piece)


def _stationary(x: Array, shape: tuple[int, ...]) -> int:
    """Elements of the output along which an operand stands still, from the last axis on."""
    count = 1
    for back in range(1, len(shape) + 1):
        if back <= x.ndim and x.shape[-back] > 1 and x.strides[-back] != 0:
            break
        count *= shape[-back]
    return count


def _fold_if_no_zeros(kind: np.dtype[Any]) -> Combine | None:
    """The plain fold where it is exact as soon as one of two operands has no zero."""
    return fold if kind.itemsize > 2 and (format_of(kind) is None or maximum_keeps_the_first_nan(kind)) else None


def _folded(X: Sequence[Array], out: Array, count: int) -> None:
    """The fold alone, of operands with as many axes as the output, some of which stand still along the last one.

    numpy has no vector code for that, but along an axis that fits its own buffers, where it writes the operand out
    itself.  Along a longer one the operand is written out here, once; for 64-bit types that does not pay.
    """
    still = [x.shape[-1] == 1 for x in X]
    length = out.shape[-1]
    row = min([length, MAX_REPEATED, *(count // x.size for x, here in zip(X, still, strict=True) if here)])
    if not any(still) or row < max(1, min(MIN_REPEATED, count // 4)):
        fold(X, out)
        return
    rows, short = divmod(length, row)
    in_rows = length - short
    rowed = [_row(x, row, m) if here else x for m, (x, here) in enumerate(zip(X, still, strict=True))]
    split = [
        x[..., None, :] if here else x[..., :in_rows].reshape(*x.shape[:-1], rows, row)
        for x, here in zip(rowed, still, strict=True)
    ]
    fold(split, out[..., :in_rows].reshape(*out.shape[:-1], rows, row))
    if short:
        rest = [x[..., :short] if here else x[..., in_rows:] for x, here in zip(rowed, still, strict=True)]
        fold(rest, out[..., in_rows:])


def _row(values: Array, count: int, number: int) -> Array:
    """The elements of an operand that stands still along the last axis, each `count` times."""
    row = _ROWS[number].array(values.size * count, values.dtype).reshape(*values.shape[:-1], count)
    np.copyto(row, values)
    return row


def fold(X: Sequence[Array], out: Array) -> None:
    """The maximum in the order of numpy."""
    np.maximum(X[0], X[1], out=out)
    for x in X[2:]:
        np.maximum(out, x, out=out)


def _with_zeros(number_format: Format) -> Combine:
    least = -number_format.sign

    def combine(X: Sequence[Array], out: Array) -> None:
        fold(X, out)
        if np.minimum.reduce(out.view(number_format.signed), axis=None) == least:
            _correct_zeros([x.view(number_format.signed) for x in X], out.view(number_format.signed), number_format)

    return combine


def _correct_zeros(X: Sequence[Array], out: Array, number_format: Format) -> None:
    """Clear the sign where some operand has none; a NaN keeps its bits."""
    signs = _SIGNS.array(out.size, number_format.signed).reshape(out.shape)
    np.bitwise_and(X[0], X[1], out=signs)
    for x in X[2:]:
        np.bitwise_and(signs, x, out=signs)
    np.bitwise_or(signs, number_format.sign - 1, out=signs)
    unsigned = out.view(number_format.unsigned)
    if np.maximum.reduce(unsigned, axis=None) > number_format.sign + number_format.infinity:
        np.bitwise_and(out, signs, out=out, where=unsigned <= number_format.sign + number_format.infinity)
    else:
        np.bitwise_and(out, signs, out=out)


def _by_integers(number_format: Format) -> Combine:
    shift = 8 * number_format.signed.itemsize - 1

    def combine(X: Sequence[Array], out: Array) -> None:
        integers, S = [x.view(number_format.signed) for x in X], out.view(number_format.signed)
        M = _LEAST.array(out.size, number_format.signed).reshape(out.shape)
        nan = _negative_nan(X, number_format)
        if len(X) == 2:
            np.bitwise_xor(integers[0], integers[1], out=M)  # S and M are the two operands: S xor M = X0 xor X1
            np.maximum(integers[0], integers[1], out=S)
        else:
            _extremes(integers, S, M)
        nan = nan or np.maximum.reduce(S, axis=None) > number_format.infinity
        negative = _NEGATIVE.array(out.size, number_format.signed).reshape(out.shape)
        np.right_shift(S, shift, out=negative)
        np.bitwise_and(M, negative, out=M)
        np.bitwise_xor(S, M, out=S)
        if nan:
            _first_nan(X, out, number_format)

    return combine


def _extremes(integers: Sequence[Array], S: Array, M: Array) -> None:
    """The largest in S, and in M the largest xor the least."""
    fold(integers, S)
    np.minimum(integers[0], integers[1], out=M)
    for x in integers[2:]:
        np.minimum(M, x, out=M)
    np.bitwise_xor(S, M, out=M)


def _negative_nan(X: Sequence[Array], number_format: Format) -> bool:
    limit = number_format.sign + number_format.infinity
    return any(np.maximum.reduce(x.view(number_format.unsigned), axis=None) > limit for x in X)


def _first_nan(X: Sequence[Array], out: Array, number_format: Format) -> None:
    """Where an operand is NaN, the first such operand."""
    for x in reversed(X):
        np.copyto(out, x, where=x.view(number_format.unsigned) & (number_format.sign - 1) > number_format.infinity)
