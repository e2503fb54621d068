"""ArgMax: Y[k] = the first (select_last_index = 0) or last (= 1) j with S_k(j) = max S_k.

S_k is the slice of X along axis.  SONNX ArgMax of 2026-08; ONNX ArgMax-1 to ArgMax-13.

Versions 1 and 11 select the first index.  NaN is the highest value, so the first (or last) NaN wins.  The ONNX text
does not mention zeros: there the order of Max holds, +0 above -0, so that X[ArgMax X] = ReduceMax X.  The text of
2026-08 says "usual floating-point order": there both zeros are equal, and the first (or last) zero of either sign wins
(erratum of the profile).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from sonnx.numerics import order
from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, Format, format_of, patterns
from sonnx.numerics.numpy_trials import argmax_finds_the_first_nan
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator

ZEROS_DIFFER = ("onnx",)
"""The texts of ArgMax under which the order of Max holds for zeros."""

KEY_ELEMENTS = 1 << 16
"""Elements of a block of keys."""

MIN_BAND_COLUMNS = 256
"""Elements after the axis from which a band of rows is worth its calls."""

_KEYS, _SIGNS = Scratch(), Scratch()


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, int64, of the shape of X with the axis reduced to 1 or removed.

    Raises:
        NoValue: X has no element along the axis (ArgMax.axis-not-empty).
    """
    (X,), names = inputs, application.names
    Y = argmax(X, normal_axis(X, names["axis"]), last_index(application), equal_zeros(application))
    return (np.expand_dims(Y, names["axis"]) if names["keepdims"] == 1 else Y,)


def equal_zeros(application: Application) -> bool:
    """Whether the text that speaks takes both zeros as equal."""
    return application.text not in ZEROS_DIFFER


def last_index(application: Application) -> int:
    """The attribute select_last_index.

    Raises:
        NoValue: it is neither 0 nor 1; no text says what that means.
    """
    last: int = application.parameter("select_last_index")
    if last not in (0, 1):
        raise NoValue("ArgMax.select-last-index-flag", f"select_last_index is {last}")
    return last


def normal_axis(X: Array, axis: int) -> int:
    """The axis counted from the first.

    Raises:
        NoValue: X has no such axis, or no element along it.
    """
    if not -X.ndim <= axis < X.ndim:
        raise NoValue("ArgMax.axis-range", f"a tensor of rank {X.ndim} has no axis {axis}")
    if X.shape[axis] == 0:
        raise NoValue("ArgMax.axis-not-empty", f"the axis {axis} of a tensor of shape {X.shape} has no element")
    return axis % X.ndim


def argmax(X: Array, axis: int, last: int, zeros_are_equal: bool) -> Array:
    """Y without the axis: for each slice the index of the best element, elements taken one after another."""
    slices = np.moveaxis(patterns(X), axis, -1)
    Y = np.empty(slices.shape[:-1], np.int64)
    for k in np.ndindex(Y.shape):
        Y[k] = _index(_places(slices[k], X.dtype, zeros_are_equal), last)
    return Y


def _places(S: Array, kind: np.dtype[np.generic], zeros_are_equal: bool) -> list[int]:
    number_format = format_of(kind)
    if number_format is None:
        return [int(s) for s in S]
    key = order.equal_zeros_key if zeros_are_equal else order.key
    return [key(int(s), number_format.sign, number_format.infinity) for s in S]


def _index(places: list[int], last: int) -> int:
    best = 0
    for j in range(1, len(places)):
        if order.replaces(places[best], places[j], last):
            best = j
    return best


def kernel(application: Application) -> Kernel:
    """By np.argmax, on the reversed axis for the last index.

    float and double: numpy takes both zeros as equal; where +0 is above -0, a slice whose winner is -0 is searched
    again as integers (+0 is the largest integer among zeros and negative values).  float16 and bfloat16: np.argmax of
    integers in the order of the values,

        X xor (all bits but the sign, where the sign is set),   plus 1 where the sign is set if zeros are equal.
    """
    names = application.names
    axis, keep = names["axis"], names["keepdims"] == 1
    last, zeros_are_equal = last_index(application) == 1, equal_zeros(application)

    def arg_max(inputs: Sequence[Array], out: Array) -> Array:
        X = inputs[0]
        at = normal_axis(X, axis)
        arg_into(X, at, last, zeros_are_equal, out if keep else np.expand_dims(out, at), application.block)
        return out

    return arg_max


def arg_into(X: Array, axis: int, last: bool, zeros_are_equal: bool, out: Array, block: BlockSize = usual_size) -> None:
    """The indices in `out`, int64, which keeps the axis with extent 1."""
    number_format = format_of(X.dtype)
    if out.size == 0:
        return
    if number_format is None:
        _by_numpy(X, axis, last, out)
    elif X.dtype.itemsize > 2 and argmax_finds_the_first_nan(X.dtype):
        _by_numpy(X, axis, last, out)
        if not zeros_are_equal:
            _prefer_positive_zeros(X, axis, last, out, number_format)
    else:
        _by_keys(
            X, axis, last, partial(_keys, zeros_are_equal=zeros_are_equal, number_format=number_format), out, block
        )


def _by_numpy(X: Array, axis: int, last: bool, out: Array) -> None:
    """The first or last of the elements that numpy takes as largest."""
    if last:
        np.argmax(np.flip(X, axis), axis=axis, out=out, keepdims=True)
        np.subtract(X.shape[axis] - 1, out, out=out)
    else:
        np.argmax(X, axis=axis, out=out, keepdims=True)


def _prefer_positive_zeros(X: Array, axis: int, last: bool, out: Array, number_format: Format) -> None:
    """Replace the index of a -0 by that of the +0 of its slice, if there is one."""
    integers = X.view(number_format.signed)
    negative = np.take_along_axis(integers, out, axis) == -number_format.sign
    if negative.any():
        again = np.empty(out.shape, np.int64)
        _by_numpy(integers, axis, last, again)
        np.copyto(out, again, where=negative & (np.take_along_axis(integers, again, axis) == 0))


def _by_keys(X: Array, axis: int, last: bool, key: Callable[[Array], Array], out: Array, block: BlockSize) -> None:
    """Block by block: rows of the axes before, the axis, columns of the axes after."""
    before, after, d = prod(X.shape[:axis]), prod(X.shape[axis + 1 :]), X.shape[axis]
    bits = np.ascontiguousarray(X).view(f"i{X.itemsize}").reshape(before, d, after)
    result, count = out.reshape(before, after), block(KEY_ELEMENTS)
    if after == 1 and d > count:
        for row in range(before):
            result[row] = _long(bits[row, :, 0], last, key, count)
        return
    if after >= block(MIN_BAND_COLUMNS):
        width = max(1, count // 32)
        for row in range(before):
            for column in range(0, after, width):
                part = slice(column, column + width)
                result[row, part] = _columns(bits[row, :, part], last, key, count)
        return
    rows = max(1, count // (d * after))
    for row in range(0, before, rows):
        result[row : row + rows] = _winners(key(bits[row : row + rows]), last)


def _keys(bits: Array, zeros_are_equal: bool, number_format: Format) -> Array:
    """Integers in the order of the values; every NaN is the largest integer."""
    keys = _KEYS.array(bits.size, number_format.signed).reshape(bits.shape)
    signs = _SIGNS.array(bits.size, number_format.signed).reshape(bits.shape)
    np.right_shift(bits, 8 * number_format.signed.itemsize - 1, out=signs)
    np.bitwise_and(signs, number_format.sign - 1, out=keys)
    np.bitwise_xor(keys, bits, out=keys)
    if zeros_are_equal:
        np.subtract(keys, signs, out=keys)
    least = -number_format.infinity if zeros_are_equal else -number_format.infinity - 1
    if np.maximum.reduce(keys, axis=None) > number_format.infinity or np.minimum.reduce(keys, axis=None) < least:
        np.copyto(keys, number_format.sign - 1, where=bits & (number_format.sign - 1) > number_format.infinity)
    return keys


def _winners(keys: Array, last: bool) -> Array:
    """The index of the first or last largest key along axis 1 of three."""
    if keys.shape[2] == 1:
        flat = keys[:, :, 0]
        return _first_or_last(flat, last)[:, None]
    return _first_or_last(np.equal(keys, np.maximum.reduce(keys, axis=1, keepdims=True)), last)


def _first_or_last(keys: Array, last: bool) -> Array:
    array: Array = np.argmax(keys[:, ::-1] if last else keys, axis=1)
    return keys.shape[1] - 1 - array if last else array


def _columns(bits: Array, last: bool, key: Callable[[Array], Array], block: int) -> Array:
    """The index of the first or last largest key along axis 0 of two, of many columns, a band of rows at a time.

    An element that equals the best of its column in the band weighs more the nearer it is to the wanted end; the
    largest weight tells its row.
    """
    count = min(255, max(1, block // bits.shape[1]))
    best, at = np.full(bits.shape[1], np.iinfo(bits.dtype).min, bits.dtype), np.zeros(bits.shape[1], np.int64)
    up = np.arange(1, count + 1, dtype=np.uint8)[:, None]
    for start in range(0, len(bits), count):
        keys = key(bits[start : start + count])
        weights = up[: len(keys)] if last else up[: len(keys)][::-1]
        top = np.maximum.reduce(keys, axis=0)
        equal = np.equal(keys, top).view(np.uint8)
        weight = np.maximum.reduce(np.multiply(equal, weights, out=equal), axis=0)
        row = start + (weight - np.int64(1) if last else len(keys) - weight.astype(np.int64))
        better = top >= best if last or start == 0 else top > best
        np.copyto(at, row, where=better)
        np.copyto(best, top, where=better)
    return at


def _long(row: Array, last: bool, key: Callable[[Array], Array], block: int) -> int:
    """The winner of a row that is longer than a block, of the winners of its parts."""
    best: int | None = None
    at = 0
    for start in range(0, len(row), block):
        keys = key(row[start : start + block])
        j = len(keys) - 1 - int(np.argmax(keys[::-1])) if last else int(np.argmax(keys))
        if best is None or keys[j] > best or (last and keys[j] == best):
            best, at = int(keys[j]), start + j
    return at


OPERATOR = Operator(name="ArgMax", axis_parameter="axis", define=define, kernel=kernel, bound=selection.argmax)
