"""Transfer functions of rectifiers and clips: Relu, LeakyRelu, Clip, HardSigmoid, HardSwish.

Each is made of straight lines, or of a parabola between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import optional, required
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below, grown, magnitude, representable, scaled_error
from sonnx.numerics.enclosures.elementwise import Bounds, RealFunction, rectifier_lines
from sonnx.numerics.enclosures.elementwise import transfer as function_transfer
from sonnx.numerics.enclosures.selection import extremum
from sonnx.numerics.enclosures.sums import scaled
from sonnx.numerics.enclosures.values import Context, Lines, Neighbourhood, Transfer, Value, nothing
from sonnx.numerics.formats import Array


def relu(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = max(X, 0)."""
    return [_rectified(context, required(inputs, 1)[0], 0.0, exact=True)]


def leaky_relu(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = X where X >= 0, else alpha X."""
    alpha = float(np.float32(context.parameter("alpha")))
    return [_rectified(context, required(inputs, 1)[0], alpha, exact=alpha in (0.0, 1.0))]


def _rectified(context: Context, X: Value, alpha: float, *, exact: bool) -> Transfer:
    if not exact:
        context.require_floats()
        if not abs(alpha) <= FORMATS[context.element].largest:
            raise NotExecutable(f"alpha is {alpha:g}, which is not a number of {context.element}")
    X = context.refine(X, lambda value: (value.low < value.error) & (value.high > -value.error))
    low, high, error = X.low, X.high, X.error
    image = np.maximum(low, 0.0), np.maximum(high, 0.0)
    if alpha:
        ends = low * alpha, high * alpha
        least = np.where(low >= 0, low, below(ends[0] if alpha > 0 else ends[1]))
        most = np.where(low >= 0, high, above(ends[1] if alpha > 0 else ends[0]))
        crossing = (low < 0) & (high > 0)
        image = (
            np.where(crossing & (alpha < 0), 0.0, least),
            np.where(crossing, np.maximum(high, most if alpha < 0 else high), most),
        )
    positive, negative = low >= error, high <= -error
    kink = ~(positive | negative)
    c = np.where(positive, 1.0, np.where(negative, alpha, 0.5 + 0.5 * alpha))
    residual: Array | float = 0.0
    within: Array | None = None
    if kink.any():
        # of the slope of one side, 1 or alpha, an argument on the other side takes off |1 - alpha| times its distance
        bend = abs(1 - alpha) * (1 + 2.0**-50)
        beyond = np.where(low > -high, above(error - low), above(high + error))
        one_sided = kink & (beyond < 0.5 * error)
        c = np.where(one_sided, np.where(low > -high, 1.0, alpha), c)
        half = scaled_error(kink * (abs(0.5 - 0.5 * alpha) + 2.0**-50 * (1 + abs(alpha))), error)
        residual = np.where(one_sided, grown(bend * beyond, 1), half)
        within = scaled_error(np.array(max(1.0, abs(alpha))), error)
    propagated = scaled_error(np.abs(c), error) if alpha or np.ndim(residual) else c * error
    introduced = nothing(X.shape)
    if not exact:
        reach = np.maximum(np.abs(low) + error, 0.0)
        introduced = context.hypotheses.rounding(context.element, grown(abs(alpha) * reach, 2))
        if not context.hypotheses.rounds_once and not representable(alpha, context.element):
            own = context.hypotheses.rounding(context.element, np.array(abs(alpha)))
            introduced = grown(introduced + own * reach * (1 + context.unit), 3)
        introduced = np.where(positive, 0.0, introduced)
    if context.hypotheses.flush:
        introduced = introduced + context.flushed

    def pull(rows: Array) -> Array:
        return rows * c

    return Transfer(*image, introduced, inputs=(X,), pulls=(pull,), terms=1, propagated=propagated, residual=residual,
                    local=(Neighbourhood.same(X.shape),), within=within,
                    relaxed=partial(rectifier_lines, X, alpha))  # fmt: skip


def clip(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = X between bounds; the smaller of the upper bound and the larger of X and the lower one."""
    [X], ends = required(inputs, 1), optional(inputs, 1, 2)
    written_ends = [value for value in ends if value is not None]
    if any(not value.is_point or value.low is not value.high for value in written_ends):
        lower, upper = ends
        if lower is not None:
            X = context.step(extremum(1.0)(context, [X, lower])[0])
        return extremum(-1.0)(context, [X, upper]) if upper is not None else [between(context, X, -inf, inf)]
    least, most = -inf, inf
    for end, name in zip(ends, ("min", "max"), strict=True):
        written = context.application.attributes.get(name)
        if end is None and written is None:
            continue
        number = float(end.low.reshape(-1)[0]) if end is not None else float(written.value)  # type: ignore[union-attr, arg-type]
        least, most = (number, most) if name == "min" else (least, number)
    if least > most:
        raise NotExecutable("Clip has no bound where min is above max")
    return [between(context, X, least, most)]


def between(context: Context, X: Value, least: Array | float, most: Array | float) -> Transfer:
    """X between two bounds, numbers or arrays of its shape."""
    X = context.refine(
        X,
        lambda v: (
            ((v.low <= least + v.error) & (v.high >= least - v.error))
            | ((v.low <= most + v.error) & (v.high >= most - v.error))
        ),
    )
    low, high, error = X.low, X.high, X.error
    image = np.clip(low, least, most), np.clip(high, least, most)
    inside = (below(low - error) >= least) & (above(high + error) <= most)
    outside = (above(high + error) <= least) | (below(low - error) >= most)
    c = np.where(inside, 1.0, np.where(outside, 0.0, 0.5))
    residual = scaled_error(np.where(inside | outside, 0.0, 0.5), error)
    undecided = ~(inside | outside)
    if undecided.any():
        # of slope 1 an argument outside an end takes off its distance, of slope 0 one inside an end adds its distance
        past_least, past_most = above(above(least - low) + error), above(above(high + error) - most)
        beyond = above(np.maximum(past_least, 0.0) + np.maximum(past_most, 0.0))
        flat = np.minimum(above(above(high + error) - least), above(above(most - low) + error))
        one_sided = undecided & (np.minimum(beyond, flat) < 0.5 * error)
        c = np.where(one_sided, np.where(beyond <= flat, 1.0, 0.0), c)
        residual = np.where(one_sided, np.maximum(np.minimum(beyond, flat), 0.0), residual)

    def lines() -> Lines:
        slope = np.where((low >= least) & (high <= most), 1.0, 0.0)
        return Lines(
            lower_slope=slope,
            lower_offset=np.where(slope > 0, 0.0, image[0]),
            upper_slope=slope,
            upper_offset=np.where(slope > 0, 0.0, image[1]),
        )

    return Transfer(
        *image,
        context.moved(X.shape),
        inputs=(X,),
        pulls=(lambda rows: rows * c,),
        terms=1,
        propagated=scaled_error(np.abs(c), error),
        residual=residual,
        local=(Neighbourhood.same(X.shape),),
        within=error,
        relaxed=lines,
    )


def hard_sigmoid(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = alpha X + beta, between 0 and 1.

    The line is a sum of two terms, of which one has the roundings of alpha and of the product.
    """
    [X] = required(inputs, 1)
    context.require_floats()
    alpha, beta = (np.array(float(np.float32(context.parameter(name)))) for name in ("alpha", "beta"))
    inner = context.inner()
    line = scaled(
        inner,
        X,
        alpha,
        alpha,
        roundings=2,
        added=(beta, beta),
        added_terms=1,
        added_size=np.abs(beta) * (1 + 2.0**-7),
        rounded=not representable(float(alpha), context.element),
    )
    transfer = between(inner, inner.step(line, readers=1), 0.0, 1.0)
    return [rounded_at_end(context, transfer)]


def rounded_at_end(context: Context, transfer: Transfer) -> Transfer:
    """The transfer of the last step, with the one rounding of an operator that is rounded once."""
    if not context.hypotheses.once:
        return transfer
    value = grown(magnitude(transfer.low, transfer.high) + transfer.propagated + transfer.residual, 2)
    return replace(transfer, introduced=transfer.introduced + context.hypotheses.rounding(context.element, value))


def _swish(x: Array) -> Array:
    return np.asarray(x * np.clip((x + 3) / 6, 0.0, 1.0))


def _swish_image(_: Context, low: Array, high: Array) -> Bounds:
    """Least at -3/2, with the value -3/8; 0 up to -3."""
    ends = _swish(low), _swish(high)
    least = np.where((low <= -1.5) & (high >= -1.5), -0.375, np.minimum(*ends))
    error = 2.0**-50 * (magnitude(low, high) + 1)
    return np.maximum(least - error, -0.375), np.maximum(*ends) + error


def _swish_slopes(_: Context, low: Array, high: Array) -> Bounds:
    """0 up to -3, (2 x + 3) / 6 up to 3, then 1; at -3 and 3 from -1/2 and to 3/2."""
    inner_low, inner_high = np.clip(low, -3.0, 3.0), np.clip(high, -3.0, 3.0)
    line_low, line_high = (2 * inner_low + 3) / 6 - 2.0**-50, (2 * inner_high + 3) / 6 + 2.0**-50
    least, most = line_low, line_high
    outside_low, outside_high = high < -3, low > 3
    least = np.where(outside_low, 0.0, np.where(outside_high, 1.0, least))
    most = np.where(outside_low, 0.0, np.where(outside_high, 1.0, most))
    left, right = low <= -3, high >= 3
    least = np.where(left, np.minimum(least, 0.0), np.where(right, np.minimum(least, 1.0), least))
    most = np.where(left, np.maximum(most, 0.0), np.where(right, np.maximum(most, 1.0), most))
    return least, most


def _swish_steps(context: Context, argument: Array, value: Array) -> Array:
    """X times a factor in [0, 1] of at most |x| / 6 + 1/2, which has five roundings: 1/6, product, sum and clip."""
    rounding_format, least = FORMATS[context.element], context.hypotheses.least(FORMATS[context.element])
    factor = np.minimum(argument / 6 + 0.5, 1.0)
    return grown(
        6 * rounding_format.unit * argument * factor + rounding_format.unit * value + least * (8 + argument), 8
    )


HARD_SWISH = RealFunction("HardSwish", _swish_image, _swish_slopes, introduced=_swish_steps)

hard_swish = function_transfer(HARD_SWISH)
