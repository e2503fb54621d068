"""Transfer functions of products: Conv, Gemm, MatMul, Mul, Div."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import optional, required
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    Factors,
    above,
    below,
    centre,
    grown,
    magnitude,
)
from sonnx.numerics.enclosures.bilinear import Addend, Product, multiplied
from sonnx.numerics.enclosures.patches import Patches
from sonnx.numerics.enclosures.sums import (
    as_sum,
    finite,
    neighbourhood_of,
    not_known,
    repeats,
    scaled,
    unbroadcast,
)
from sonnx.numerics.enclosures.values import (
    DIVISOR,
    Context,
    Pull,
    Transfer,
    Value,
    spread,
)
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import Windows, windows


def matmul(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A B, of matrices, vectors and stacks of matrices."""
    A, B = required(inputs, 2)
    a_shape = (1, *A.shape) if len(A.shape) == 1 else A.shape
    b_shape = (*B.shape, 1) if len(B.shape) == 1 else B.shape
    batch = np.broadcast_shapes(a_shape[:-2], b_shape[:-2])
    whole, out = (*batch, a_shape[-2], b_shape[-1]), _matmul_shape(A.shape, B.shape, batch)

    def pull_a(b: Array) -> Pull:
        turned = b.reshape(b_shape).swapaxes(-1, -2)
        back = unbroadcast(a_shape)
        return lambda rows: back(np.matmul(rows.reshape(len(rows), *whole), turned)).reshape(len(rows), *A.shape)

    def pull_b(a: Array) -> Pull:
        turned = a.reshape(a_shape).swapaxes(-1, -2)
        back = unbroadcast(b_shape)
        return lambda rows: back(np.matmul(turned, rows.reshape(len(rows), *whole))).reshape(len(rows), *B.shape)

    def multiply(a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(a.reshape(a_shape), b.reshape(b_shape)).reshape(out))

    count = prod(batch) * max(a_shape[-2], b_shape[-1]) + 1
    return [multiplied(context, A, B, Product(multiply, max(1, a_shape[-1]), pull_a, pull_b, count))]


def _matmul_shape(a: Sequence[int], b: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


def gemm(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = alpha A' B' + beta C, where A' is A or its transpose."""
    (A, B), [C] = required(inputs, 2), optional(inputs, 2)
    trans_a, trans_b = bool(context.parameter("transA")), bool(context.parameter("transB"))
    alpha, beta = (float(np.float32(context.parameter(name))) for name in ("alpha", "beta"))
    if (alpha, beta) != (1.0, 1.0):
        context.require_floats()

    def turned(array: Array, whether: bool) -> Array:
        return array.swapaxes(-1, -2) if whether else array

    def pull_a(b: Array) -> Pull:
        fixed = turned(b, trans_b).T
        return lambda rows: turned(np.matmul(rows, fixed), trans_a)

    def pull_b(a: Array) -> Pull:
        fixed = turned(a, trans_a).T
        return lambda rows: turned(np.matmul(fixed, rows), trans_b)

    def multiply(a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(turned(a, trans_a), turned(b, trans_b)))

    n = A.shape[0 if trans_a else 1]
    how = Product(multiply, max(1, n), pull_a, pull_b, max(A.shape[1 if trans_a else 0], B.shape[0 if trans_b else 1]))
    added_shape = () if C is None else C.shape
    shape = (A.shape[1 if trans_a else 0], B.shape[0 if trans_b else 1])
    if len(added_shape) > 2 or any(c not in (1, y) for c, y in zip(added_shape[::-1], shape[::-1], strict=False)):
        raise NotExecutable(f"C of shape {list(added_shape)} does not broadcast to {list(shape)}")
    added = None if C is None else Addend(C, added_shape, beta)
    return [multiplied(context, A, B, how, scale=alpha, added=added)]


def conv(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y[b, c, place] = sum of X under the kernel times W[c] + B[c]."""
    (X, W), [B] = required(inputs, 2), optional(inputs, 2)
    axes = len(X.shape) - 2
    slid = windows(
        X.shape[2:],
        W.shape[2:],
        context.application.numbers("strides", axes),
        context.application.numbers("dilations", axes),
        context.application.numbers("pads", 2 * axes),
    )
    return [convolved(context, X, W, B, slid, context.parameter("group"))]


def convolved(context: Context, X: Value, W: Value, B: Value | None, slid: Windows, group: int) -> Transfer:
    """See `conv`, for windows over the spatial axes of X."""
    patches = Patches(slid)
    N, M, number = X.shape[0], W.shape[0], W.shape[1]
    rows_of, places, height = M // group, prod(patches.places), number * patches.size
    out = (N, M, *patches.places)

    def multiply(x: Array, w: Array) -> Array:
        columns = patches.columns(x).reshape(N, group, height, places)
        return np.asarray(np.matmul(w.reshape(group, rows_of, height), columns).reshape(out))

    def pull_x(w: Array) -> Pull:
        taps = np.ascontiguousarray(w.reshape(group, rows_of, number, patches.size).transpose(3, 0, 2, 1))
        lead = N, group * number

        def pull(rows: Array) -> Array:
            flat = rows.reshape(len(rows), N, group, rows_of, places)
            parts = (np.matmul(tap, flat).reshape(len(rows), *lead, *patches.places) for tap in taps)
            return patches.laid(parts, (len(rows), *lead))

        return pull

    how = Product(multiply, max(1, height), pull_x, None, rows_of * patches.size, (patches.neighbourhood, None))
    bias = None if B is None else Addend(B, (M, *[1] * len(patches.places)))
    return multiplied(context, X, W, how, added=bias)


def transposed_convolution(
    context: Context, X: Value, W: Value, B: Value | None, slid: Windows, group: int
) -> Transfer:
    """The transposed map of a convolution: Y[b, c, o] = B[c] + Σ X[b, i, m] W[i, c, k], o the element of the window of
    place m under the element k of the kernel.

    `slid` are the windows over the spatial axes of Y, of which the first ones are the places of X.
    """
    patches = Patches(slid, X.shape[2:])
    N, C, M = X.shape[0], X.shape[1], W.shape[1]
    inputs, places, height = C // group, prod(X.shape[2:]), M * patches.size

    def scatter(x: Array, w: Array) -> Array:
        columns = np.matmul(w.reshape(group, inputs, height).swapaxes(-1, -2), x.reshape(N, group, inputs, places))
        return np.asarray(patches.scattered(columns.reshape(N, group * M, patches.size, places)))

    def pull_x(w: Array) -> Pull:
        kernels = w.reshape(group, inputs, height)

        def pull(rows: Array) -> Array:
            columns = patches.columns(rows.reshape(len(rows) * N, group * M, *slid.extents))
            products = np.matmul(kernels, columns.reshape(len(rows) * N, group, height, places))
            return np.asarray(products.reshape(len(rows), *X.shape))

        return pull

    how = Product(scatter, max(1, inputs * patches.size), pull_x, None, height)
    bias = None if B is None else Addend(B, (M * group, *[1] * len(slid.extents)))
    return multiplied(context, X, W, how, added=bias)


def multiply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A B, element by element."""
    A, B = required(inputs, 2)
    if A.is_point != B.is_point:
        varying, factor = (B, A) if A.is_point else (A, B)
        return [scaled(context, varying, factor.low, factor.high, roundings=1)]
    shape = np.broadcast_shapes(A.shape, B.shape)
    count = max(repeats(A.shape, shape), repeats(B.shape, shape)) + 1
    local = neighbourhood_of(A, shape), neighbourhood_of(B, shape)
    how = Product(np.multiply, 1, lambda b: unbroadcast(A.shape, b), lambda a: unbroadcast(B.shape, a), count, local)
    return [multiplied(context, A, B, how)]


def _whole_quotient(context: Context, A: Value, B: Value) -> Transfer:
    """A / B without the fractional part; quotients of numbers that float64 has are taken in 64 bits.

    It is monotone in A, and in B where 0 is outside its range.  Computed operands give one within the range of the
    operands widened by their errors.
    """
    away = ((B.low - B.error > 0) | (B.high + B.error < 0)).all()
    exact = max(A.largest, B.largest) < 2.0**53
    if not context.require(DIVISOR, bool(away), "no divisor is 0") or not context.require(
        DIVISOR, exact, "dividend and divisor are below 2^53"
    ):
        return not_known(np.broadcast_shapes(A.shape, B.shape))

    def ends(more_a: Array | float, more_b: Array | float) -> tuple[Array, Array]:
        a = [(array).astype(np.int64) for array in (A.low - more_a, A.high + more_a)]
        b = [(array).astype(np.int64) for array in (B.low - more_b, B.high + more_b)]
        corners = [(np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(np.float64) for x in a for y in b]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)

    low, high = ends(0.0, 0.0)
    wide_low, wide_high = ends(A.error, B.error)
    inexact = (A.error > 0) | (B.error > 0)
    return Transfer(low, high, np.where(inexact, wide_high - wide_low, 0.0))


def _divided(context: Context, A: Value, inverse_low: Array, inverse_high: Array) -> Transfer:
    """A over a constant: one rounding by itself; in a larger sum a product with the inverse, rounded before."""
    folded = len(as_sum(context, A).factors.sizes) > 1
    transfer = scaled(context, A, inverse_low, inverse_high, roundings=2 if folded else 1, rounded=folded)
    if folded or transfer.sum is None:
        return transfer
    record = replace(transfer.sum, factors=transfer.sum.factors.scaled(1.0, everywhere=False), scalings=2)
    return replace(transfer, sum=replace(record, operand=lambda: record))


def divide(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = A / B, where 0 is outside the range of B and of its computed values."""
    A, B = required(inputs, 2)
    if not B.is_point:
        A, B = context.sharpen(A), context.sharpen(B)
    B = context.refine(B, lambda value: (value.low <= value.error) & (value.high >= -value.error))
    if context.is_integer:
        return [_whole_quotient(context, A, B)]
    away = np.where((B.low > 0) | (B.high < 0), np.minimum(np.abs(B.low), np.abs(B.high)), 0.0)
    error_b = B.error + context.flushed
    least = below(away - error_b)
    if not context.require(
        DIVISOR, bool((least > 0).all()), f"the divisor is at least {away.min(initial=np.inf):.3g} from 0"
    ):
        return [not_known(np.broadcast_shapes(A.shape, B.shape))]
    if B.is_point:
        return [_divided(context, A, below(1 / B.low), above(1 / B.low))]
    shape = np.broadcast_shapes(A.shape, B.shape)
    corners = [a / b for a in (A.low, A.high) for b in (B.low, B.high)]
    low, high = below(np.minimum.reduce(corners)), above(np.maximum.reduce(corners))
    # a^/b^ - a/b = da / b - (a / b) db / b + second-order terms: with |b^| >= least,
    # |a^/b^ - a/b| <= (|da| + |a/b| |db|) / least.
    quotient = magnitude(low, high)
    error = grown((A.error + quotient * error_b) / least, 4)
    # a^/b^ - a/b = da / b^ - (a / (b b^)) db: the factors of da and db lie in ranges; the rows take their centres
    b_low, b_high = below(B.low - error_b), above(B.high + error_b)
    inverse_ends = below(np.minimum(1 / b_low, 1 / b_high)), above(np.maximum(1 / b_low, 1 / b_high))
    steepness = [q * i for q in (low, high) for i in inverse_ends]
    (by_a, off_a), (by_b, off_b) = (
        centre(*inverse_ends),
        centre(below(np.minimum.reduce(steepness)), above(np.maximum.reduce(steepness))),
    )
    values, pulls = [B], [unbroadcast(B.shape, spread(-by_b, shape))]
    propagated = grown(np.abs(by_b) * B.error, 1)
    residual = grown(off_b * B.error + (np.abs(by_b) + off_b) * context.flushed, 4)
    if not A.is_point:
        values, pulls = [A, *values], [unbroadcast(A.shape, spread(by_a, shape)), *pulls]
        propagated = grown(np.abs(by_a) * A.error + propagated, 2)
        residual = grown(off_a * A.error + residual, 2)
    computed = grown(quotient + error, 1)
    factors = Factors.of(A.largest, 1.0)
    introduced = context.hypotheses.sum(context.element, 1, 1, computed, computed, factors)
    if context.hypotheses.flush:
        introduced = introduced + grown(2 * FORMATS[context.element].normal * (1 + quotient) / least, 3)
    finite(context, computed, computed, introduced, 1)
    return [
        Transfer(
            low,
            high,
            spread(introduced, shape),
            inputs=tuple(values),
            pulls=tuple(pulls),
            terms=max(repeats(A.shape, shape), repeats(B.shape, shape)) + 1,
            propagated=spread(propagated, shape),
            residual=spread(residual, shape),
            within=spread(error, shape),
            local=tuple(neighbourhood_of(value, shape) for value in values),
        )
    ]
