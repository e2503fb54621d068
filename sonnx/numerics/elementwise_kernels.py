"""Kernels of elementwise operators: block by block in a wider type; what rounding leaves open is computed exactly.

A function of this module makes a factory of kernels: one line of an operator's object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel, KernelFactory
from sonnx.numerics.blocks import BLOCK_ELEMENTS, block_pieces, merged
from sonnx.numerics.certified_rounding import Bound, certify_block, wide_type
from sonnx.numerics.elementwise import ElementFunction, each
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.numpy_trials import arithmetic_is_ieee, maximum_keeps_the_first_nan
from sonnx.numerics.rounding import canonicalize_nans, has_nan
from sonnx.numerics.scratch import Scratch

Approximation = Callable[..., Any]
"""A function of arrays of the wide type into an array of it, given as `out`."""

NUMPY_BOUND = Bound(2.0**-46)
"""What numpy's float64 functions are trusted with: 64 units in the last place (docs/trust.md)."""

LONG_DOUBLE_BOUND = Bound(2.0**-60)
"""What the C library's long double functions are trusted with, where long double has 64 digits: 8 units."""

MIN_TABULATED = 1 << 15
"""Elements of a 16-bit type from which a table of all patterns pays."""

_FIRST, _SECOND = Scratch(), Scratch()


def real_function(exact: ElementFunction, approximate: Approximation, bound: Bound = NUMPY_BOUND) -> KernelFactory:
    """Kernels of a real function of one argument.

    Args:
        exact: the function of one element, see `sonnx.numerics.elementwise`.
        approximate: the same on an array of float64 or long double.
        bound: of its error in float64; the error in long double is smaller as `LONG_DOUBLE_BOUND` is.
    """

    def factory(application: Application) -> Kernel:
        def kernel(inputs: Sequence[Any], out: Array) -> Array:
            X = np.ascontiguousarray(inputs[0]).reshape(-1)
            flat = out.reshape(-1)
            if out.itemsize == 2 and out.size >= MIN_TABULATED:
                table, open_ = _table(exact, approximate, bound, out.dtype)
                np.take(table, X.view(np.uint16), out=flat.view(np.uint16), mode="wrap")
                application.count(out.size, int(np.count_nonzero(open_[X.view(np.uint16)])) if open_.any() else 0)
            else:
                application.count(
                    out.size, _into(X, flat, exact, approximate, bound, application.block(BLOCK_ELEMENTS))
                )
            return out

        return kernel

    return factory


@lru_cache(maxsize=64)
def _table(
    exact: ElementFunction, approximate: Approximation, bound: Bound, kind: np.dtype[Any]
) -> tuple[Array, Array]:
    """The patterns of the function for all patterns of a type, and which of them took the exact path."""
    everything = np.arange(1 << 16, dtype=np.uint16).view(kind)
    array, open_ = np.empty(1 << 16, kind), np.zeros(1 << 16, np.bool_)
    _into(everything, array, exact, approximate, bound, BLOCK_ELEMENTS, open_)
    return array.view(np.uint16), open_


def _into(
    X: Array,
    out: Array,
    exact: ElementFunction,
    approximate: Approximation,
    bound: Bound,
    block: int,
    open_: Array | None = None,
) -> int:
    """A function of flat elements; how many took the exact path, which are true in `open_`."""
    wide = wide_type(out.dtype)
    if wide is None:
        out[...] = each(exact, X)
        return out.size
    bound = bound_in(wide, bound)
    count = 0
    for start in range(0, out.size, block):
        part = slice(start, start + block)
        piece = out[part]
        y = _FIRST.array(piece.size, wide)
        np.copyto(y, X[part])
        approximate(y, out=y)
        undecided = certify_block(y, bound, piece)
        if undecided is not None:
            piece[undecided] = each(exact, X[part][undecided])
            if open_ is not None:
                open_[part] = undecided
            count += int(np.count_nonzero(undecided))
    return count


def bound_in(wide: np.dtype[Any], bound: Bound) -> Bound:
    """A bound stated for float64, in a wider type: as LONG_DOUBLE_BOUND to NUMPY_BOUND, 2^-14, where a unit is 2^-11.

    So a bound that counts roundings must leave room for eight times as many.
    """
    if wide == np.float64:
        return bound
    narrower = LONG_DOUBLE_BOUND.relative / NUMPY_BOUND.relative
    return Bound(bound.relative * narrower, bound.absolute * narrower)


def real_function_of_two(
    exact: ElementFunction, approximate: Approximation, bound: Bound = NUMPY_BOUND
) -> KernelFactory:
    """Kernels of a real function of two arguments that are broadcast; see `real_function`."""

    def factory(application: Application) -> Kernel:
        def kernel(inputs: Sequence[Any], out: Array) -> Array:
            wide = wide_type(out.dtype)
            if wide is None or not all(_fits(X, wide) for X in inputs):
                A, B = np.broadcast_arrays(*inputs)
                application.count(out.size, out.size)
                out[...] = each(exact, A, B)
                return out
            if out.size == 0:
                return out
            error, count = bound_in(wide, bound), 0
            shape, Z = merged(inputs, out.shape)
            for (a, b), piece in block_pieces(Z, out.reshape(shape), application.block(BLOCK_ELEMENTS)):
                y, z = _FIRST.array(piece.size, wide), _SECOND.array(piece.size, wide)
                np.copyto(y, a)
                np.copyto(z, b)
                approximate(y, z, out=y)
                undecided = certify_block(y, error, piece)
                if undecided is not None:
                    piece[undecided] = each(exact, a[undecided], b[undecided], kind=out.dtype)
                    count += int(np.count_nonzero(undecided))
            application.count(out.size, count)
            return out

        return kernel

    return factory


def _fits(values: Array, wide: np.dtype[Any]) -> bool:
    """Whether every element is one of the wide type."""
    if format_of(values.dtype) is not None or values.itemsize < 8:
        return True
    digits = np.finfo(wide).nmant + 1
    return bool(np.all(np.abs(values.astype(np.float64)) < 2.0 ** (digits - 1)))


def arithmetic(exact: ElementFunction, operation: Approximation) -> KernelFactory:
    """Kernels of +, -, *, / or the square root: IEEE 754 has every one of them correctly rounded.

    float and double are the processor's own, which `numpy_trials.py` tries.  float16 and bfloat16 are computed in float
    and rounded again, which gives the same as one rounding: float has 24 digits, twice 11 and two more (Figueroa, "When
    is double rounding innocuous?", 1995).  Sums and products that are subnormal there are exact in float; a quotient is
    never so near to the middle of two numbers.
    """

    def factory(application: Application) -> Kernel:
        def kernel(inputs: Sequence[Any], out: Array) -> Array:
            if format_of(out.dtype) is None:
                operation(*inputs, out=out)
            elif arithmetic_is_ieee(out.dtype):
                operation(*inputs, out=out)
                canonicalize_nans_in_blocks(out, application.block(BLOCK_ELEMENTS))
            else:
                out[...] = each(exact, *np.broadcast_arrays(*inputs))
                application.count(out.size, out.size)
            return out

        return kernel

    return factory


def canonicalize_nans_in_blocks(out: Array, block: int = BLOCK_ELEMENTS) -> None:
    """See `canonicalize_nans`; without a mask of the whole array."""
    if out.size <= block:
        canonicalize_nans(out)
        return
    flat = out.reshape(-1)
    for start in range(0, flat.size, block):
        canonicalize_nans(flat[start : start + block])


def numpy_kernel(operation: Approximation) -> KernelFactory:
    """Kernels of an operation that numpy computes exactly; every NaN becomes the one an operation makes."""

    def factory(application: Application) -> Kernel:
        def kernel(inputs: Sequence[Any], out: Array) -> Array:
            operation(*inputs, out=out)
            if format_of(out.dtype) is not None:
                canonicalize_nans_in_blocks(out, application.block(BLOCK_ELEMENTS))
            return out

        return kernel

    return factory


def guarded(require: Callable[..., None], factory: KernelFactory) -> KernelFactory:
    """The same kernels, on inputs for which `require` does not raise."""

    def guarded_factory(application: Application) -> Kernel:
        kernel = factory(application)

        def checked(inputs: Sequence[Any], out: Array) -> Array:
            require(*inputs)
            return kernel(inputs, out)

        return checked

    return guarded_factory


def clip_into(X: Array, low: Array | None, high: Array | None, out: Array, block: int) -> None:
    """Low where X < low, high where X > high, else X, bit for bit; the bounds are in order, NaN and None are none.

    np.maximum and np.minimum give the right number but for the sign of a zero where the bound is a zero as well: then
    every zero of X is copied once more, unless it is +0 and so is the lower bound: a block holds -0 if the least
    integer of its patterns is that of -0.  So is every NaN.

    Args:
        X: of any strides.
        low: the lower bound, of rank 0.
        high: the upper bound, of rank 0.
        out: C-contiguous, of the shape of X.
        block: elements of a block.
    """
    number_format = format_of(X.dtype)
    low, high = (None if array is None or array != array else array for array in (low, high))
    flat, source = out.reshape(-1), np.ascontiguousarray(X).reshape(-1)
    trusted = number_format is None or (X.dtype.itemsize > 2 and maximum_keeps_the_first_nan(X.dtype))
    zero_bounds = [array for array in (low, high) if number_format is not None and array is not None and array == 0]
    zeros, negative = bool(zero_bounds), (high is not None and high == 0) or any(map(np.signbit, zero_bounds))
    for start in range(0, flat.size, block):
        x, y = source[start : start + block], flat[start : start + block]
        if not trusted or len(zero_bounds) > 1:
            _by_comparison(x, low, high, y)
            continue
        _by_extremes(x, low, high, y)
        if number_format is None:
            continue
        if zeros and (negative or np.minimum.reduce(x.view(number_format.signed)) == -number_format.sign):
            np.copyto(y, x, where=x == 0)
        if high is not None and has_nan(y):  # np.maximum was tried: it keeps the first NaN
            np.copyto(y, x, where=np.isnan(y))


def _by_comparison(x: Array, low: Array | None, high: Array | None, y: Array) -> None:
    np.copyto(y, x)
    if low is not None:
        np.copyto(y, low, where=x < low)
    if high is not None:
        np.copyto(y, high, where=x > high)


def _by_extremes(x: Array, low: Array | None, high: Array | None, y: Array) -> None:
    if low is None:
        np.copyto(y, x)
    else:
        np.maximum(x, low, out=y)
    if high is not None:
        np.minimum(y, high, out=y)
