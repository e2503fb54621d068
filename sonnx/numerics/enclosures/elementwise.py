"""Transfer functions of elementwise functions of one input: monotone or with known slopes.

For y = f(x) and a computed input x + d the mean value theorem gives f(x + d) - f(x) = s d for a slope s of f between x
and x + d, so with s in [c - r, c + r] the map is c and the noise r |d|.  For the relaxation, a slope m that is at most
every slope of f on [low, high] makes f(x) - m x nondecreasing, so it lies between its values at the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import erf, inf, pi

import numpy as np

from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    FUNCTION,
    TINY,
    above,
    below,
    centre,
    function_above,
    function_below,
    grown,
    magnitude,
    scaled_error,
)
from sonnx.numerics.enclosures.values import (
    ARGUMENT,
    DIVISOR,
    FINITE,
    Context,
    Lines,
    Neighbourhood,
    Transfer,
    TransferFunction,
    Value,
    farthest,
)
from sonnx.numerics.formats import Array

Bounds = tuple[Array, Array]

STEEP = 2.0
"""An error by slopes of so many times what the values of the function allow is replaced by the latter."""


@dataclass(frozen=True)
class RealFunction:
    """A function of one real number.

    `image` gives the range over ranges, `slopes` the range of the slope over ranges; both rounded outward.  `exact`
    says that an implementation introduces no error.  `domain` is the least argument, not included; with a `modulus`
    included; `most` the largest, included.  `introduced` bounds what an implementation adds where it is known by its
    steps, by the call, the largest computed argument and value.
    """

    name: str
    image: Callable[[Context, Array, Array], Bounds]
    slopes: Callable[[Context, Array, Array], Bounds]
    exact: bool = False
    domain: float = -inf
    most: float = inf
    piecewise: bool = False
    modulus: Callable[[Array], Array] | None = None
    """A bound of |f(x + d) - f(x)| for any arguments, by |d|; where slopes are not bounded."""
    introduced: Callable[[Context, Array, Array], Array] | None = None
    left: float | None = None
    """Of a function that is x where x >= 0: its slope elsewhere."""


def transfer(function: RealFunction) -> TransferFunction:
    """The transfer function of an elementwise function."""

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        [X] = required(inputs, 1)
        if not function.exact:
            context.require_floats()
        X = context.refine(context.sharpen(X), lambda value: _matters(context, function, value))
        if function.domain > -inf:
            least = float(below(below(X.low - X.error) - context.flushed).min(initial=inf))
            reached = X.low - X.error >= function.domain
            inside = least > function.domain or (function.modulus is not None and bool(reached.all()))
            inside = inside and bool((X.high + X.error <= function.most).all())
            if not context.require(ARGUMENT, inside, f"computed arguments are at least {least:.3g}"):
                wide = np.full(X.shape, inf)
                return [Transfer(-wide, wide, wide)]
        low, high = function.image(context, X.low, X.high)
        wide = X.error + context.flushed
        s_low, s_high = function.slopes(context, below(X.low - wide), above(X.high + wide))
        c, r = centre(s_low, s_high)
        if function.modulus is not None:
            limit = function.modulus(X.error)
            steep = ~(np.maximum(np.abs(s_low), np.abs(s_high)) * X.error < limit)
            c, r = np.where(steep, 0.0, c), np.where(steep, 0.0, r)
            residual = np.where(steep, limit, scaled_error(r, X.error))
        else:
            residual = scaled_error(r, X.error)
        if context.flushed:
            steepest = np.maximum(np.abs(s_low), np.abs(s_high))
            change = grown(np.minimum(steepest, 1e300) * context.flushed, 2)
            if function.modulus is not None:
                change = np.minimum(change, function.modulus(np.array(context.flushed)))
            residual = residual + change
        propagated = scaled_error(np.abs(c), X.error)
        returned = None if function.exact else function.image(context, below(X.low - wide), above(X.high + wide))
        if returned is not None:
            most = farthest(returned, low, high)
            steep = ~(propagated + residual < STEEP * most)
            c, propagated = np.where(steep, 0.0, c), np.where(steep, 0.0, propagated)
            residual = np.where(steep, most, residual)
        value = grown(magnitude(low, high) + propagated + residual, 2)
        introduced = _introduced(context, function, X, value)
        if not context.is_integer:
            largest = FORMATS[context.element].largest
            top = float((value + introduced).max(initial=0.0))
            context.require(FINITE, top < largest, f"values up to {top:.3g}, the format ends at {largest:.3g}")

        def pull(rows: Array) -> Array:
            return rows * c

        lines = partial(_lines, context, function, X)
        if function.left is not None:
            lines = partial(rectifier_lines, X, function.left)
        return [
            Transfer(
                low,
                high,
                introduced,
                inputs=(X,),
                pulls=(pull,),
                terms=1,
                propagated=propagated,
                residual=residual,
                relaxed=lines,
                returned=returned,
                local=(Neighbourhood.same(X.shape),),
            )
        ]

    return apply


def _introduced(context: Context, function: RealFunction, X: Value, value: Array) -> Array:
    if function.exact:
        return context.moved(X.shape)
    if function.introduced is not None and not context.hypotheses.rounds_once:
        return function.introduced(context, X.computed, value)
    return context.hypotheses.function(function.name, context.element, value)


def _matters(context: Context, function: RealFunction, value: Value) -> Array:
    """Elements whose slope is not one number: where better bounds of the input make better ones of the output."""
    low, high = function.slopes(context, below(value.low - value.error), above(value.high + value.error))
    return (high - low) > (0.0 if function.piecewise else 0.02)


def _lines(context: Context, function: RealFunction, X: Value) -> Lines:
    """Two parallel lines, by the least slope of the range, rounded down."""
    slope, _ = function.slopes(context, X.low, X.high)
    slope = np.where(np.isfinite(slope), slope, 0.0)
    f_low = function.image(context, X.low, X.low)[0]
    f_high = function.image(context, X.high, X.high)[1]
    return Lines(
        lower_slope=slope,
        lower_offset=below(f_low - above(slope * X.low)),
        upper_slope=slope,
        upper_offset=above(f_high - below(slope * X.high)),
    )


def rectifier_lines(X: Value, alpha: float) -> Lines:
    """The lines about X where it is at least 0, and about alpha X elsewhere.

    The chord and, on the other side, the slope alpha or 1 of the longer side, which costs the least area.

    With alpha up to 1 the function is convex and the chord is above it, with a larger alpha below it.
    """
    low, high = X.low, X.high
    crossing = (low < 0) & (high > 0)
    with np.errstate(all="ignore"):
        chord = np.where(crossing, (high - alpha * low) / (high - low), np.where(low >= 0, 1.0, alpha))
    chord = np.clip(np.where(np.isfinite(chord), chord, 1.0), min(alpha, 1.0), max(alpha, 1.0))
    at_low = np.where(low >= 0, low, alpha * low)
    at_high = np.where(high >= 0, high, alpha * high)
    slope = np.where(crossing, np.where(high > -low, 1.0, alpha), np.where(low >= 0, 1.0, alpha))
    # the largest distance from a line is at an end
    if alpha > 1:
        least = np.minimum(below(below(at_low) - above(chord * low)), below(below(at_high) - above(chord * high)))
        return Lines(
            lower_slope=np.where(crossing, chord, slope),
            lower_offset=np.where(crossing, below(least), 0.0),
            upper_slope=slope,
            upper_offset=np.zeros(low.shape),
        )
    most = np.maximum(above(above(at_low) - below(chord * low)), above(above(at_high) - below(chord * high)))
    offset = np.where(crossing, above(most), 0.0)
    return Lines(
        lower_slope=slope,
        lower_offset=np.zeros(low.shape),
        upper_slope=np.where(crossing, chord, slope),
        upper_offset=offset,
        left=alpha,
    )


def _clamped(f: Callable[[Array], Array], least: float, most: float) -> Callable[[Context, Array, Array], Bounds]:
    """The range of an increasing function with values between two numbers."""
    return lambda _, low, high: (
        np.maximum(function_below(f(low)), least),
        np.minimum(function_above(f(high)), most),
    )


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def softplus(x: Array) -> Array:
    """log(1 + e^x), without overflow."""
    array: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return array


def _bell(derivative: Callable[[Array], Array], top: float) -> Callable[[Context, Array, Array], Bounds]:
    """The slopes of a function whose derivative is even, positive and falls from 0 on."""

    def slopes(_: Context, low: Array, high: Array) -> Bounds:
        far = np.maximum(np.abs(low), np.abs(high))
        near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        return (
            np.maximum(function_below(derivative(far)), 0.0),
            np.minimum(function_above(derivative(near)), top),
        )

    return slopes


def _tanh_slope(x: Array) -> Array:
    e: Array = np.exp(-2 * x)
    return np.asarray(4 * e / (1 + e) ** 2)


def _sigmoid_slope(x: Array) -> Array:
    e: Array = np.exp(-x)
    return np.asarray(e / (1 + e) ** 2)


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


EXP = RealFunction(
    "Exp",
    lambda _, low, high: (np.maximum(function_below(np.exp(low)), 0.0), function_above(np.exp(high))),
    lambda _, low, high: (np.maximum(function_below(np.exp(low)), 0.0), function_above(np.exp(high))),
)
LOG = RealFunction(
    "Log",
    lambda _, low, high: (_log(low, function_below), _log(high, function_above)),
    lambda _, low, high: (below(1 / high), above(1 / np.maximum(low, TINY))),
    domain=0.0,
)
SQRT = RealFunction(
    "Sqrt",
    lambda _, low, high: (np.maximum(below(np.sqrt(np.maximum(low, 0))), 0.0), above(np.sqrt(np.maximum(high, 0)))),
    lambda _, low, high: (
        function_below(0.5 / np.sqrt(np.maximum(high, TINY))),
        function_above(0.5 / np.sqrt(np.maximum(low, TINY))),
    ),
    domain=0.0,
    modulus=lambda error: grown(np.sqrt(error), 2),
)
TANH = RealFunction("Tanh", _clamped(np.tanh, -1.0, 1.0), _bell(_tanh_slope, 1.0))
SIGMOID = RealFunction("Sigmoid", _clamped(sigmoid, 0.0, 1.0), _bell(_sigmoid_slope, 0.25))
SOFTPLUS = RealFunction(
    "Softplus",
    lambda _, low, high: (np.maximum(function_below(softplus(low)), 0.0), function_above(softplus(high))),
    lambda _, low, high: (
        np.maximum(function_below(sigmoid(low)), 0.0),
        np.minimum(function_above(sigmoid(high)), 1.0),
    ),
)
ERF = RealFunction(
    "Erf",
    _clamped(_erf, -1.0, 1.0),
    _bell(lambda x: 2 / np.sqrt(pi) * np.exp(-x * x) * (1 + FUNCTION), 1.13),
)


def _log(x: Array, outward: Callable[[Array], Array]) -> Array:
    """The logarithm of positive numbers; near 1 its relative error is that of log1p."""
    return outward(np.log(np.maximum(x, TINY)))


def _sine(shift: float) -> Callable[[Context, Array, Array], Bounds]:
    """The range of sin(x + shift): at the ends, or -1 and 1 where an extremum may lie between."""

    def image(_: Context, low: Array, high: Array) -> Bounds:
        ends = np.sin(low + shift), np.sin(high + shift)
        slack = 2.0**-40 * (1 + magnitude(low, high))

        def contains(at: float) -> Array:
            """Whether at + 2 k pi may lie in the range."""
            first = np.ceil((low + shift - slack - at) / (2 * pi) - 2.0**-20)
            return np.asarray(at + 2 * pi * first <= high + shift + slack + 2.0**-15)

        least = np.where(contains(-pi / 2), -1.0, np.maximum(np.minimum(*ends) - slack, -1.0))
        most = np.where(contains(pi / 2), 1.0, np.minimum(np.maximum(*ends) + slack, 1.0))
        return least, most

    return image


SIN = RealFunction("Sin", _sine(0.0), _sine(pi / 2))
NEG = RealFunction(
    "Neg", lambda _, low, high: (-high, -low), lambda _, low, high: (low * 0 - 1, low * 0 - 1), exact=True
)
ABS = RealFunction(
    "Abs",
    lambda _, low, high: (
        np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high))),
        magnitude(low, high),
    ),
    lambda _, low, high: (np.where(low >= 0, 1.0, -1.0), np.where(high <= 0, -1.0, 1.0)),
    exact=True,
    piecewise=True,
    left=-1.0,
)


def _arc(x: Array) -> Array:
    return np.asarray(np.arccos(np.clip(x, -1.0, 1.0)))


def _arc_slope(x: Array) -> Array:
    """1 / sqrt(1 - x^2); 1 - x^2 as (1 - x) (1 + x) has three roundings."""
    return np.asarray(1 / np.sqrt(np.maximum((1 - x) * (1 + x), TINY)))


def _arc_slopes(_: Context, low: Array, high: Array) -> Bounds:
    far, near = np.minimum(magnitude(low, high), 1.0), np.minimum(np.abs(low), np.abs(high))
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(near, 1.0))
    return -function_above(_arc_slope(far)), -function_below(_arc_slope(near))


ACOS = RealFunction(
    "Acos",
    lambda _, low, high: (np.maximum(function_below(_arc(high)), 0.0), np.minimum(function_above(_arc(low)), 3.1416)),
    _arc_slopes,
    domain=-1.0,
    most=1.0,
    modulus=lambda error: grown(3.1416 * np.sqrt(0.5 * error), 3),
)
"""|acos a - acos b| <= acos(1 - |a - b|) = 2 asin(sqrt(|a - b| / 2)) <= pi sqrt(|a - b| / 2)."""

INVERSE = RealFunction(
    "Reciprocal",
    lambda _, low, high: (below(1 / high), above(1 / low)),
    lambda _, low, high: (
        -function_above(1 / np.minimum(low * low, high * high)), -function_below(1 / np.maximum(low * low, high * high))
    ),
    introduced=lambda context, _, value: context.hypotheses.rounding(context.element, value),
)  # fmt: skip
"""1 / x, of numbers of one sign; see `reciprocal`."""


def reciprocal(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = 1 / X, where 0 is outside the range of X and of its computed values."""
    [X] = required(inputs, 1)
    X = context.refine(X, lambda value: (value.low <= value.error) & (value.high >= -value.error))
    off = X.error + context.flushed
    away = (below(X.low - off) > 0) | (above(X.high + off) < 0)
    if not context.require(DIVISOR, bool(away.all()), "no divisor is 0"):
        wide = np.full(X.shape, inf)
        return [Transfer(-wide, wide, wide)]
    return transfer(INVERSE)(context, [X])
