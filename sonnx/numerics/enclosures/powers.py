"""Transfer functions of powers: Pow, squares, and the response normalization that is made of them.

x^p of a constant p is monotone in x on each side of 0; where p is not a whole number, x is above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import UNIT, above, below, function_above, function_below, grown, magnitude
from sonnx.numerics.enclosures.bilinear import Product, multiplied
from sonnx.numerics.enclosures.elementwise import EXP, LOG, Bounds, RealFunction, transfer
from sonnx.numerics.enclosures.products import multiply
from sonnx.numerics.enclosures.sums import factors_of, finite, not_known, scaled, unbroadcast
from sonnx.numerics.enclosures.values import (
    ARGUMENT,
    DIVISOR,
    EXPONENT,
    Context,
    Linear,
    Pull,
    Transfer,
    Value,
    constant,
    nothing,
    spread,
)
from sonnx.numerics.formats import Array

EXPONENT_ROUNDED = 1024 * UNIT
"""The relative error of a power that float64 has, of an exponent that is rounded to float64."""


def power_range(low: Array, high: Array, p: Array) -> Bounds:
    """The range of x^p, for numbers x above 0, or for a whole number p."""
    ends = np.power(low, p), np.power(high, p)
    least, most = np.minimum(*ends), np.maximum(*ends)
    even = np.equal(np.mod(p, 2), 0)
    least = np.where(even & (p > 0) & (low <= 0) & (high >= 0), 0.0, least)
    outward = function_below(least), function_above(most)
    known = (p == 0) | (p == 1)
    fixed = np.where(p == 0, 1.0, low), np.where(p == 0, 1.0, high)
    least, most = np.where(known, fixed[0], outward[0]), np.where(known, fixed[1], outward[1])
    least = np.where((even & (p > 0)) | (low >= 0), np.maximum(least, 0.0), least)
    return least, most


def power(p: Array) -> RealFunction:
    """The function x^p of a constant p, of the shape of x."""

    def slopes(_: Context, low: Array, high: Array) -> Bounds:
        least, most = power_range(low, high, p - 1)
        # p - 1 is rounded, so a power is off by a factor x^d with |d| <= UNIT |p - 1|, and |(p - 1) ln x| < 750
        least, most = least - np.abs(least) * EXPONENT_ROUNDED, most + np.abs(most) * EXPONENT_ROUNDED
        ends = p * least, p * most
        outward = below(np.minimum(*ends)), above(np.maximum(*ends))
        return np.where(p == 0, 0.0, outward[0]), np.where(p == 0, 0.0, outward[1])

    return RealFunction("Pow", lambda _, low, high: power_range(low, high, p), slopes)


def pow_(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """C = A^B; a varying exponent as e^(B log A), of a base above 0."""
    A, B = required(inputs, 2)
    context = context.into(A.element)
    shape = np.broadcast_shapes(A.shape, B.shape)
    A = A if A.shape == shape else context.step(repeated(A, shape))
    if not B.is_point:
        return [_exponential(context, A, B)]
    p = np.array(spread(B.low, shape))
    if B.low is not B.high:
        raise NotExecutable("Pow has a bound for exponents below 2^53 only")
    whole = np.floor(p) == p
    off = A.error + context.flushed
    if context.is_integer:
        if not context.require(EXPONENT, bool((whole & (p >= 0)).all()), "exponents are whole and not negative"):
            return [not_known(shape)]
        return [_of_integers(context, A, p)]
    inside = (whole & (p >= 0)) | (below(A.low - off) > 0) | (whole & (above(A.high + off) < 0))
    if not context.require(ARGUMENT, bool(inside.all()), "a base is above 0 where its exponent is not whole, and "
                           "not 0 where its exponent is negative"):  # fmt: skip
        return [not_known(shape)]
    return transfer(power(p))(context, [A])


def _of_integers(context: Context, A: Value, p: Array) -> Transfer:
    function = power(p)
    low, high = function.image(context, A.low, A.high)
    wide = function.image(context, A.low - A.error, A.high + A.error)
    noise = np.where(A.error > 0, above(np.ceil(wide[1]) - np.floor(wide[0])), 0.0)
    return Transfer(np.floor(low) + (low > np.floor(low)) * 1.0, np.floor(high), noise, element=A.element)


def repeated(X: Value, shape: tuple[int, ...]) -> Transfer:
    """X broadcast to a shape."""
    fixed = (X.low, X.high) if X.is_point else (nothing(X.shape), nothing(X.shape))
    count = int(np.prod(shape)) // max(1, X.low.size) + 1
    return Transfer(
        spread(X.low, shape),
        spread(X.high, shape),
        nothing(shape),
        inputs=(X,),
        pulls=(unbroadcast(X.shape),),
        terms=count,
        propagated=spread(X.error, shape),
        residual=0.0,
        relaxed=Linear(spread(fixed[0], shape), spread(fixed[1], shape)),
    )


def _exponential(context: Context, A: Value, B: Value) -> Transfer:
    inner = context.unrounded()
    off = A.error + context.flushed
    if not context.require(ARGUMENT, bool((below(A.low - off) > 0).all()), "a base of a varying exponent is above 0"):
        return not_known(np.broadcast_shapes(A.shape, B.shape))
    logarithm = inner.step(transfer(LOG)(inner, [A])[0])
    argument = inner.step(multiply(inner, [logarithm, B])[0])
    return transfer(RealFunction("Pow", EXP.image, EXP.slopes))(context, [argument])[0]


SQUARE = RealFunction(
    "Mul",
    lambda _, low, high: (
        np.where((low <= 0) & (high >= 0), 0.0, np.maximum(below(np.minimum(low * low, high * high)), 0.0)),
        above(np.maximum(low * low, high * high)),
    ),
    lambda _, low, high: (2 * low, 2 * high),
    introduced=lambda context, _, value: context.hypotheses.rounding(context.element, value),
)


def carried(context: Context, sums: Transfer, squares: Value) -> Transfer:
    """Sums over neighbouring channels, where an implementation may carry them from one channel to the next.

    It adds the square that is new and takes off the one that left.  What it computes for a channel is a sum of all
    squares up to there and of those that left, with the same exact value (theorem bounds.running-sum).
    """
    if not context.hypotheses.running or context.hypotheses.rounds_once:
        return sums
    count = squares.shape[1]
    absolute = grown(2 * squares.computed.sum(axis=1, keepdims=True), count + 2)
    absolute = np.array(spread(absolute, squares.shape))
    factors, result = factors_of(squares), grown(magnitude(sums.low, sums.high) + sums.propagated + sums.residual, 2)
    introduced = context.hypotheses.sum(context.element, 2 * count, 1, absolute, result, factors)
    finite(context, absolute, absolute, introduced, 2 * count)
    transfer = replace(sums, introduced=introduced)
    if sums.sum is None:
        return transfer
    record = replace(sums.sum, absolute=absolute, terms=2 * count, depth=inf, introduced=introduced)
    return replace(transfer, sum=record)


def response_normalization(
    context: Context, X: Value, alpha: float, beta: float, bias: float, around: Array, size: int
) -> Transfer:
    """LRN: X / (bias + alpha / size Σ X^2)^beta, with bias above 0 and beta at least 0.

    `around` is a matrix (channels, channels) of zeros and ones: which squares are added up for a channel.  An
    implementation divides by the power, or multiplies by that of -beta; the introduced error covers both.
    """
    shape = X.shape
    inner = context.inner()
    squares = inner.step(transfer(SQUARE)(inner, [X])[0], readers=1)
    flat = (shape[0], shape[1], int(np.prod(shape[2:])))

    def combined(weights: Array, x: Array) -> Array:
        return np.asarray(np.matmul(weights, x.reshape(flat)).reshape(shape))

    def pull(weights: Array) -> Pull:
        return lambda rows: np.matmul(weights.T, rows.reshape(len(rows), *flat)).reshape(len(rows), *shape)

    how = Product(combined, size, lambda _: pull(around), pull, size)
    sums = inner.step(carried(inner, multiplied(inner, constant("", around), squares, how), squares), readers=1)
    factor, start = alpha / size, np.full((1,) * len(shape), bias)
    divisor = inner.step(
        scaled(inner, sums, np.array(below(factor)), np.array(above(factor)), roundings=3, added=(start, start),
               added_terms=1, added_size=start * (1 + 2.0**-7), rounded=True)
    )  # fmt: skip
    least = below(np.maximum(divisor.low, below(bias)) - divisor.error)
    if not context.require(DIVISOR, bool((least > context.flushed).all()), "the divisor is above 0"):
        return not_known(shape)
    inverse = transfer(power(np.full(shape, -beta)))(inner, [divisor])[0]
    if not context.hypotheses.rounds_once:
        lowest, highest = power_range(least, above(divisor.computed), np.full(shape, beta))
        own = context.hypotheses.function("Pow", context.element, highest)
        divided = np.where(lowest > 2 * own, grown(own / (lowest * (lowest - own)), 4), inf)
        inverse = replace(inverse, introduced=inverse.introduced + divided)
    return multiply(context, [X, context.step(inverse)])[0]
