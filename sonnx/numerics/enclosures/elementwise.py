"""Transfer functions of elementwise functions of one input: monotone or with known slopes.

For y = f(x) and a computed input x + d the mean value theorem gives f(x + d) - f(x) = s d for a slope s of f between x
and x + d, so with s in [c - r, c + r] the map is c and the noise r |d|.  For the relaxation, a slope m that is at most
every slope of f on [low, high] makes f(x) - m x nondecreasing, so it lies between its values at the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf, inf, pi

import numpy as np

from sonnx.base.errors import NotExecutable
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
    times,
)
from sonnx.numerics.enclosures.values import Context, Lines, Transfer, TransferFunction, Value
from sonnx.numerics.formats import Array

Bounds = tuple[Array, Array]


@dataclass(frozen=True)
class Function:
    """A function of one real number.

    `image` gives the range over ranges, `slopes` the range of the slope over ranges; both rounded outward.  `exact`
    says that an implementation introduces no error.  `domain` is the least argument, not included; with a `modulus`
    included.
    """

    name: str
    image: Callable[[Context, Array, Array], Bounds]
    slopes: Callable[[Context, Array, Array], Bounds]
    exact: bool = False
    domain: float = -inf
    piecewise: bool = False
    modulus: Callable[[Array], Array] | None = None
    """A bound of |f(x + d) - f(x)| for any arguments, by |d|; where slopes are not bounded."""


def transfer(function: Function) -> TransferFunction:
    """The transfer function of an elementwise function."""

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        X = inputs[0]
        assert X is not None  # noqa: S101  the count of inputs is checked before
        X = context.refine(X, lambda value: _matters(context, function, value))
        if function.domain > -inf:
            least = float(below(below(X.low - X.error) - context.flushed).min(initial=inf))
            inside = least > function.domain or (function.modulus is not None and bool((X.low >= X.error).all()))
            if not context.require("argument", inside, f"computed arguments are at least {least:.3g}"):
                wide = np.full(X.shape, inf)
                return [Transfer(-wide, wide, wide)]
        low, high = function.image(context, X.low, X.high)
        wide = X.error + context.flushed
        s_low, s_high = function.slopes(context, below(X.low - wide), above(X.high + wide))
        c, r = centre(s_low, s_high)
        if function.modulus is not None:
            limit = function.modulus(X.error)
            steep = ~(s_high * X.error < limit)
            c, r = np.where(steep, 0.0, c), np.where(steep, 0.0, r)
            residual = np.where(steep, limit, times(r, X.error))
        else:
            residual = times(r, X.error)
        if context.flushed:
            steepest = np.maximum(np.abs(s_low), np.abs(s_high))
            change = grown(np.minimum(steepest, 1e300) * context.flushed, 2)
            if function.modulus is not None:
                change = np.minimum(change, function.modulus(np.array(context.flushed)))
            residual = residual + change
        propagated = times(np.abs(c), X.error)
        value = grown(magnitude(low, high) + propagated + residual, 2)
        introduced = context.moved(X.shape) if function.exact else context.hypotheses.function(
            function.name, context.element, value
        )  # fmt: skip
        largest = FORMATS[context.element].largest
        top = float((value + introduced).max(initial=0.0))
        context.require("finite", top < largest, f"values up to {top:.3g}, the format ends at {largest:.3g}")

        def pull(rows: Array) -> Array:
            return rows * c

        lines = _lines(context, function, X, low, high)
        return [Transfer(low, high, introduced, (X,), (pull,), 1, propagated, residual, lines)]

    return apply


def _matters(context: Context, function: Function, value: Value) -> Array:
    """Elements whose slope is not one number: where better bounds of the input make better ones of the output."""
    low, high = function.slopes(context, below(value.low - value.error), above(value.high + value.error))
    return (high - low) > (0.0 if function.piecewise else 0.02)


def _lines(context: Context, function: Function, X: Value, low: Array, high: Array) -> Lines:
    """Two parallel lines, by the least slope of the range, rounded down."""
    slope, _ = function.slopes(context, X.low, X.high)
    slope = np.where(np.isfinite(slope), slope, 0.0)
    f_low = function.image(context, X.low, X.low)[0]
    f_high = function.image(context, X.high, X.high)[1]
    return Lines(slope, below(f_low - above(slope * X.low)), slope, above(f_high - below(slope * X.high)))


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
    made: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return made


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


EXP = Function(
    "Exp",
    lambda _, low, high: (np.maximum(function_below(np.exp(low)), 0.0), function_above(np.exp(high))),
    lambda _, low, high: (np.maximum(function_below(np.exp(low)), 0.0), function_above(np.exp(high))),
)
LOG = Function(
    "Log",
    lambda _, low, high: (_log(low, function_below), _log(high, function_above)),
    lambda _, low, high: (below(1 / high), above(1 / np.maximum(low, TINY))),
    domain=0.0,
)
SQRT = Function(
    "Sqrt",
    lambda _, low, high: (np.maximum(below(np.sqrt(np.maximum(low, 0))), 0.0), above(np.sqrt(np.maximum(high, 0)))),
    lambda _, low, high: (
        function_below(0.5 / np.sqrt(np.maximum(high, TINY))),
        function_above(0.5 / np.sqrt(np.maximum(low, TINY))),
    ),
    domain=0.0,
    modulus=lambda error: grown(np.sqrt(error), 2),
)
TANH = Function("Tanh", _clamped(np.tanh, -1.0, 1.0), _bell(_tanh_slope, 1.0))
SIGMOID = Function("Sigmoid", _clamped(sigmoid, 0.0, 1.0), _bell(_sigmoid_slope, 0.25))
SOFTPLUS = Function(
    "Softplus",
    lambda _, low, high: (np.maximum(function_below(softplus(low)), 0.0), function_above(softplus(high))),
    lambda _, low, high: (
        np.maximum(function_below(sigmoid(low)), 0.0),
        np.minimum(function_above(sigmoid(high)), 1.0),
    ),
)
ERF = Function(
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


SIN = Function("Sin", _sine(0.0), _sine(pi / 2))
NEG = Function("Neg", lambda _, low, high: (-high, -low), lambda _, low, high: (low * 0 - 1, low * 0 - 1), exact=True)
ABS = Function(
    "Abs",
    lambda _, low, high: (
        np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high))),
        magnitude(low, high),
    ),
    lambda _, low, high: (np.where(low >= 0, 1.0, -1.0), np.where(high <= 0, -1.0, 1.0)),
    exact=True,
    piecewise=True,
)


# ------------------------------------------------------------------ rectifiers and clips


def relu(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = max(X, 0)."""
    return [_rectified(context, inputs[0], 0.0, exact=True)]


def leaky_relu(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = X where X >= 0, else alpha X."""
    alpha = float(np.float32(context.parameter("alpha", 0.01)))
    return [_rectified(context, inputs[0], alpha, exact=alpha in (0.0, 1.0))]


def _rectified(context: Context, X: Value | None, alpha: float, *, exact: bool) -> Transfer:
    assert X is not None  # noqa: S101  the count of inputs is checked before
    if abs(alpha) > 1:
        raise NotExecutable("LeakyRelu has a bound for alpha between -1 and 1 only")
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
    c = np.where(positive, 1.0, np.where(negative, alpha, 0.5 + 0.5 * alpha))
    r = np.where(positive | negative, 0.0, 0.5 - 0.5 * alpha + 2.0**-50)
    propagated, residual = times(np.abs(c), error), times(r, error)
    introduced = np.zeros(X.shape)
    if not exact:
        size = np.where(positive, 0.0, abs(alpha) * np.maximum(np.abs(low) + error, 0.0))
        introduced = np.where(positive, 0.0, context.hypotheses.rounding(context.element, grown(size, 2)))
    if context.hypotheses.flush:
        introduced = introduced + context.flushed

    def pull(rows: Array) -> Array:
        return rows * c

    return Transfer(*image, introduced, (X,), (pull,), 1, propagated, residual, _rectifier_lines(X, alpha))


def _rectifier_lines(X: Value, alpha: float) -> Lines:
    """The chord above; below, the slope alpha or 1 of the longer side, which costs the least area."""
    low, high = X.low, X.high
    crossing = (low < 0) & (high > 0)
    with np.errstate(all="ignore"):
        chord = np.where(crossing, (high - alpha * low) / (high - low), np.where(low >= 0, 1.0, alpha))
    chord = np.clip(np.where(np.isfinite(chord), chord, 1.0), min(alpha, 1.0), 1.0)
    # convex for alpha <= 1: the largest distance above a line is at an end
    at_low = np.where(low >= 0, low, alpha * low)
    at_high = np.where(high >= 0, high, alpha * high)
    offset = np.where(
        crossing,
        above(np.maximum(above(above(at_low) - below(chord * low)), above(above(at_high) - below(chord * high)))),
        0.0,
    )
    slope = np.where(crossing, np.where(high > -low, 1.0, alpha), np.where(low >= 0, 1.0, alpha))
    return Lines(slope, np.zeros(low.shape), np.where(crossing, chord, slope), offset)


def clip(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = X between constant bounds."""
    X, *ends = inputs
    assert X is not None  # noqa: S101  the count of inputs is checked before
    least, most = -inf, inf
    for index, name in enumerate(("min", "max")):
        given = ends[index] if index < len(ends) else None
        written = context.application.attributes.get(name)
        if given is not None and not given.is_point:
            raise NotExecutable("Clip has a bound for constant min and max only")
        if given is None and written is None:
            continue
        number = float(given.low.reshape(-1)[0]) if given is not None else float(written.value)  # type: ignore[union-attr, arg-type]
        least, most = (number, most) if name == "min" else (least, number)
    if least > most:
        raise NotExecutable("Clip has no bound where min is above max")
    return _between(context, X, least, most)


def _between(context: Context, X: Value, least: float, most: float) -> list[Transfer]:
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
    r = np.where(inside | outside, 0.0, 0.5)
    slope = np.where((low >= least) & (high <= most), 1.0, 0.0)
    lines = Lines(slope, np.where(slope > 0, 0.0, image[0]), slope, np.where(slope > 0, 0.0, image[1]))
    return [
        Transfer(
            *image,
            context.moved(X.shape),
            (X,),
            (lambda rows: rows * c,),
            1,
            times(np.abs(c), error),
            times(r, error),
            lines,
        )
    ]
