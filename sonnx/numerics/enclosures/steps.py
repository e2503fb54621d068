"""Transfer functions of step functions and conversions: Floor, Ceil, Sign, Cast, Mod, and the rounding of quantization.

A nondecreasing function f of the ideal x in [low, high] and of a computed x^ within e of it has both values between
f(low - e) and f(high + e).  Where f only makes unit steps at points that are at least 1 apart, an interval of length e
has at most floor(e) + 1 of them, so the two values differ by at most that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below, grown, magnitude
from sonnx.numerics.enclosures.selection import decided, truth
from sonnx.numerics.enclosures.sums import finite, not_known
from sonnx.numerics.enclosures.values import (
    ARGUMENT,
    DIVISOR,
    Context,
    Linear,
    Neighbourhood,
    Transfer,
    TransferFunction,
    Value,
    nothing,
    spread,
)
from sonnx.numerics.formats import ELEMENTS, Array, is_integer, limits_of

Step = Callable[[Array], Array]


def step(function: Step, *, unit: bool = True) -> TransferFunction:
    """The transfer function of a nondecreasing function with whole values; `unit`: its steps are 1 high and apart."""

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        [X] = required(inputs, 1)
        return [stepped(context, X, function, unit=unit)]

    return apply


def stepped(context: Context, X: Value, function: Step, element: str = "", *, unit: bool = True) -> Transfer:
    """See `step`."""

    def open_(value: Value) -> Array:
        ends = function(below(value.low - value.error)), function(above(value.high + value.error))
        return np.asarray((value.error > 0) & (ends[0] < ends[1]))

    X = context.refine(X, open_)
    wide = spread(context.off(X), X.shape)
    reach = function(above(X.high + wide)) - function(below(X.low - wide))
    jump = np.minimum(reach, np.floor(grown(wide, 1)) + 1) if unit else reach
    noise = np.where(wide > 0, jump, 0.0)
    decided(context, noise > 0)
    return Transfer(function(X.low), function(X.high), noise, element=element)


def cast(context: Context, X: Value, element: str) -> Transfer:
    """X in another element type: rounded, without its fractional part, or as a truth value."""
    kind = ELEMENTS.get(element)
    if X.element == element:
        return _same(context, X, element, context.moved(X.shape))
    if element in FORMATS:
        return _to_float(context, X, element)
    if kind == np.bool_:
        off = context.off(X)
        sure, never = (X.low > 0) | (X.high < 0), (X.low == 0) & (X.high == 0)
        steady = (below(X.low - off) > 0) | (above(X.high + off) < 0) | ((off == 0) & (sure | never))
        wavering = ~steady & (off > 0)
        decided(context, wavering)
        return truth(sure, never, wavering)
    if kind is None or not is_integer(kind):
        raise NotExecutable(f"Cast to {element} has no bound")
    if context.is_integer:
        return _same(context, X, element, nothing(X.shape))
    least, most = limits_of(kind)
    off = context.off(X)
    inside = (below(X.low - off) > float(least) - 1) & (above(X.high + off) < float(most) + 1)
    ends = f"{X.low.min(initial=inf):.6g} to {X.high.max(initial=-inf):.6g}"
    if not context.require(ARGUMENT, bool(inside.all()), f"computed values from {ends} are of type {element}"):
        return not_known(X.shape)
    return replace(stepped(context, X, np.trunc, element), saturates=True)


def _same(context: Context, X: Value, element: str, introduced: Array) -> Transfer:
    zero = nothing(X.shape)
    return Transfer(
        X.low,
        X.high,
        introduced,
        inputs=(X,),
        pulls=(lambda rows: rows,),
        terms=0,
        propagated=X.error,
        residual=0.0,
        relaxed=Linear(zero, zero),
        local=(Neighbourhood.same(X.shape),),
        element=element,
    )


def _to_float(context: Context, X: Value, element: str) -> Transfer:
    """One rounding; none where every number of the type is one of the other."""
    into, rounding_format, source = context.into(element), FORMATS[element], FORMATS.get(X.element)
    if source is not None:
        kept = (
            source.unit >= rounding_format.unit
            and source.tiny >= rounding_format.tiny
            and source.largest <= rounding_format.largest
        )
        introduced = nothing(X.shape) if kept else into.stated.rounding(element, X.computed)
        introduced = introduced + context.moved(X.shape)
    else:
        introduced = np.where(X.computed <= 1 / rounding_format.unit, 0.0, into.stated.rounding(element, X.computed))
    finite(into, X.computed, X.computed, introduced, 1)
    return _same(context, X, element, introduced)


def mod(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The remainder of A divided by B, with the sign of B, or with fmod of A.

    Where the quotient rounded to a whole number q is the same for all ideal and computed operands, the remainder is
    A - q B.  Elsewhere it is between 0 and the largest |B|, on the side of its sign, and so is the computed one.
    """
    A, B = required(inputs, 2)
    truncated = bool(context.parameter("fmod"))
    shape = np.broadcast_shapes(A.shape, B.shape)
    off_a, off_b = context.off(A), context.off(B)
    a_low, a_high = below(A.low - off_a), above(A.high + off_a)
    b_low, b_high = below(B.low - off_b), above(B.high + off_b)
    if not context.require(DIVISOR, bool(((b_low > 0) | (b_high < 0)).all()), "no divisor is 0"):
        return [not_known(shape)]
    whole = np.trunc if truncated else np.floor
    corners = [a / b for a in (a_low, a_high) for b in (b_low, b_high)]
    q_low, q_high = whole(below(np.minimum.reduce(corners))), whole(above(np.maximum.reduce(corners)))
    q = np.where((q_low == q_high) & (np.abs(q_low) < 2.0**53), q_low, 0.0)
    linear = spread((q_low == q_high) & (np.abs(q_low) < 2.0**53), shape)
    size = above(np.minimum(magnitude(a_low, a_high), inf)) if truncated else inf
    largest = spread(np.minimum(magnitude(b_low, b_high), size), shape)
    negative = spread(a_low < 0, shape) if truncated else spread(b_high < 0, shape)
    positive = spread(a_high > 0, shape) if truncated else spread(b_low > 0, shape)
    side_low, side_high = np.where(negative, -largest, 0.0), np.where(positive, largest, 0.0)
    products = [q * array for array in (B.low, B.high)]
    low = np.where(linear, below(A.low - above(np.maximum.reduce(products))), side_low)
    high = np.where(linear, above(A.high - below(np.minimum.reduce(products))), side_high)
    noise = np.where(linear, grown(A.error + np.abs(q) * B.error, 2), np.where((off_a > 0) | (off_b > 0),
                     above(side_high - side_low), 0.0))  # fmt: skip
    decided(context, ~linear & (noise > 0))
    introduced = context.moved(shape)
    if not truncated and not context.is_integer:  # fmod plus the divisor, rounded
        introduced = introduced + context.hypotheses.rounding(context.element, grown(magnitude(low, high) + noise, 1))
    return [Transfer(np.maximum(low, side_low), np.minimum(high, side_high), spread(introduced, shape),
                     residual=spread(noise, shape))]  # fmt: skip
