"""Transfer functions of Max, Min, pooling of maxima, Where, comparisons and Softmax.

Max of candidates: where one candidate is the largest in every implementation, the errors are its own.  Elsewhere the
maximum moves by at most the largest error of those that can be the largest, because |max a - max b| <= max |a - b|.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import plural
from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import above, accumulated, below, grown, magnitude
from sonnx.numerics.enclosures.averages import constant_axes
from sonnx.numerics.enclosures.maxima import largest_of
from sonnx.numerics.enclosures.patches import Patches
from sonnx.numerics.enclosures.sums import unbroadcast
from sonnx.numerics.enclosures.values import (
    DECISION,
    FINITE,
    Context,
    Transfer,
    TransferFunction,
    Value,
    nothing,
    spread,
)
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import windows


def extremum(sign: float) -> TransferFunction:
    """Max for sign 1, Min for -1: of any number of inputs."""

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        values = [operand for operand in inputs if operand is not None]
        shape = np.broadcast_shapes(*[value.shape for value in values])
        values = _decided(context, values, shape, sign)
        lows = np.stack([spread(value.low if sign > 0 else -value.high, shape) for value in values])
        highs = np.stack([spread(value.high if sign > 0 else -value.low, shape) for value in values])
        low, high, chosen, error = _largest(lows, highs, np.stack([spread(value.error, shape) for value in values]))
        used = [(index, value) for index, value in enumerate(values) if not value.is_point]
        pulls = tuple(unbroadcast(value.shape, (chosen == index).astype(np.float64)) for index, value in used)
        propagated, noise = _parted(chosen, error)
        low, high = (low, high) if sign > 0 else (-high, -low)
        ideal = largest_of(context, values, _numbered(values, shape), sign)
        terms = max([prod(shape) // max(1, prod(value.shape)) for _, value in used], default=1) + 1
        return [
            Transfer(
                low,
                high,
                context.moved(shape),
                inputs=tuple(value for _, value in used),
                pulls=pulls,
                terms=terms,
                propagated=propagated,
                residual=noise,
                ideal=ideal,
            )
        ]

    return apply


def _numbered(values: Sequence[Value], shape: Sequence[int]) -> list[Array]:
    """For each value the numbers of its elements, counted through all values, broadcast to a shape."""
    starts = np.cumsum([0, *[prod(value.shape) for value in values]])
    return [
        np.broadcast_to(start + np.arange(prod(value.shape)).reshape(value.shape), shape)
        for start, value in zip(starts, values, strict=False)
    ]


def _decided(context: Context, values: list[Value], shape: tuple[int, ...], sign: float) -> list[Value]:
    """The candidates, with better bounds where it is open which one is the largest."""
    lows = [below((value.low if sign > 0 else -value.high) - value.error) for value in values]
    stacked = np.stack([np.broadcast_to(low, shape) for low in lows])
    up_to, from_there = np.maximum.accumulate(stacked), np.maximum.accumulate(stacked[::-1])[::-1]
    sure = up_to[-1]
    refined = []
    for index, operand in enumerate(values):
        rivals = [*up_to[max(0, index - 1) : index], *from_there[index + 1 : index + 2]]
        if operand.is_point or operand.shape != shape or not rivals:
            refined.append(operand)
            continue
        rival = np.maximum.reduce(rivals)

        def wanted(value: Value, rival: Array = rival) -> Array:
            high = above((value.high if sign > 0 else -value.low) + value.error)
            return np.asarray((high >= sure) & (rival >= (value.low if sign > 0 else -value.high) - value.error))

        refined.append(context.refine(operand, wanted))
    return refined


def _largest(lows: Array, highs: Array, errors: Array) -> tuple[Array, Array, Array, Array]:
    """Of candidates along axis 0: the range of the maximum, which one it surely is, else -1, and the largest error of
    those that it can be.
    """
    possible = above(highs + errors) >= below(lows - errors).max(axis=0)
    chosen = np.where(possible.sum(axis=0) == 1, possible.argmax(axis=0), -1)
    return lows.max(axis=0), highs.max(axis=0), chosen, np.where(possible, errors, 0.0).max(axis=0)


def _parted(chosen: Array, error: Array) -> tuple[Array, Array]:
    """The error as a propagated one where one candidate is chosen, and as noise elsewhere."""
    return np.where(chosen >= 0, error, 0.0), np.where(chosen >= 0, 0.0, error)


def max_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = the largest element under the kernel; padding is never the largest."""
    if context.outputs > 1:
        raise NotExecutable("MaxPool has a bound for one output only")
    [X] = required(inputs, 1)
    axes = len(X.shape) - 2
    if context.parameter("auto_pad") != "NOTSET" or context.parameter("ceil_mode"):
        raise NotExecutable("MaxPool has a bound for explicit pads and ceil_mode 0 only")
    patches = Patches(
        windows(
            X.shape[2:],
            context.parameter("kernel_shape"),
            context.application.numbers("strides", axes),
            context.application.numbers("dilations", axes),
            context.application.numbers("pads", 2 * axes),
        )
    )
    return [_pooled(context, X, patches)]


def global_max_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = the largest element of each channel."""
    [X] = required(inputs, 1)
    axes = len(X.shape) - 2
    return [_pooled(context, X, Patches(windows(X.shape[2:], X.shape[2:], [1] * axes, [1] * axes, [0] * 2 * axes)))]


def _pooled(context: Context, X: Value, patches: Patches) -> Transfer:
    first = X
    candidates = _candidates(first, patches)

    def unsure(value: Value) -> Array:
        """The elements under a kernel whose largest one is not decided, where they have errors."""
        *_, chosen, _ = candidates if value is first else _candidates(value, patches)
        return patches.covered((chosen < 0).reshape(*value.shape[:2], *patches.places)) & (value.error > 0)

    X = context.refine(X, unsure)
    candidates = candidates if X is first else _candidates(X, patches)
    low, high, chosen, error = (candidate.reshape(*X.shape[:2], *patches.places) for candidate in candidates)
    out = low.shape

    def pull(rows: Array) -> Array:
        marks = np.arange(patches.size).reshape(1, 1, -1, 1) == chosen.reshape(*X.shape[:2], 1, -1)
        spread = rows.reshape(len(rows), *X.shape[:2], 1, -1) * marks
        return patches.scattered(spread)

    propagated, noise = _parted(chosen, error)
    ideal = largest_of(context, [X], _under_kernel(X, patches))
    if ideal is not None:
        low, high = np.maximum(low, ideal.low), np.minimum(high, ideal.high)
    return Transfer(
        low, high, context.moved(out), inputs=(X,), pulls=(pull,), terms=patches.size + 1, propagated=propagated,
        residual=noise, ideal=ideal, local=(patches.neighbourhood,),
    )  # fmt: skip


def _under_kernel(X: Value, patches: Patches) -> list[Array]:
    """For each element of the kernel the numbers of the elements that it lies over; in the padding, where no element
    is, those of another one of the same place.
    """
    numbers = np.arange(X.low.size, dtype=np.float64).reshape(X.shape)
    views = patches.views(numbers, -1.0)
    other = reduce(np.maximum, views)
    return [np.where(view < 0, other, view).astype(np.intp) for view in views]


def _candidates(X: Value, patches: Patches) -> tuple[Array, Array, Array, Array]:
    """See `_largest`, of the elements under the kernel, without copies of them."""
    least, most = (patches.views(array, -inf) for array in (below(X.low - X.error), above(X.high + X.error)))
    low, high, sure = (
        reduce(np.maximum, arrays) for arrays in (patches.views(X.low, -inf), patches.views(X.high, -inf), least)
    )
    chosen, number, error = np.full(low.shape, -1), np.zeros(low.shape, np.intp), np.zeros(low.shape)
    for index, (top, own) in enumerate(zip(most, patches.views(X.error), strict=True)):
        possible = top >= sure
        number += possible
        np.copyto(chosen, index, where=possible)
        np.maximum(error, own, out=error, where=possible)
    return low, high, np.where(number == 1, chosen, -1), error


def where(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = X where the condition holds, else Y.

    An element whose condition is known is that of its branch.  Of another one the range is that of both branches; where
    an implementation may decide otherwise, the computed value is off by at most the distance of the branches.
    """
    condition, X, Y = required(inputs, 3)
    shape = np.broadcast_shapes(condition.shape, X.shape, Y.shape)
    sure, never = condition.low > 0, condition.high <= 0
    wavering = np.broadcast_to(condition.error > 0, shape)
    decided(context, wavering)
    first, second = np.broadcast_to(sure & ~wavering, shape), np.broadcast_to(never & ~wavering, shape)
    low = np.where(sure, X.low, np.where(never, Y.low, np.minimum(X.low, Y.low)))
    high = np.where(sure, X.high, np.where(never, Y.high, np.maximum(X.high, Y.high)))
    used = [(value, mask) for value, mask in ((X, first), (Y, second)) if not value.is_point]
    pulls = tuple(unbroadcast(value.shape, mask.astype(np.float64)) for value, mask in used)
    terms = max([prod(shape) // max(1, prod(value.shape)) for value, _ in used], default=1) + 1
    apart = above(np.maximum(np.maximum(X.high - Y.low, Y.high - X.low), 0.0))
    jump = grown(np.maximum(X.error, Y.error) + np.where(wavering, apart, 0.0), 2)
    return [
        Transfer(
            low,
            high,
            context.moved(shape),
            inputs=tuple(value for value, _ in used),
            pulls=pulls,
            terms=terms,
            propagated=np.where(first, X.error, np.where(second, Y.error, 0.0)),
            residual=np.where(first | second, 0.0, jump),
        )
    ]


def decided(context: Context, wavering: Array) -> None:
    """Record how many elements an implementation may decide otherwise; their errors count the difference."""
    number = int(np.count_nonzero(wavering))
    if number:
        context.require(
            DECISION, True, f"an implementation may decide {plural(number, 'element')} otherwise; their errors count it"
        )


Decide = Callable[[Value, Value, Array, Array], tuple[Array, Array]]
"""Of A, B and what their computed values may be off: where a comparison surely holds, and surely does not."""


def comparison(decides: Decide) -> TransferFunction:
    """Less, Greater and Equal: 1 where the comparison surely holds, 0 where it surely does not, else open.

    The ideal outcome is decided by the ranges, the computed one by the ranges widened by the errors.
    """

    def apply(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        A, B = required(inputs, 2)
        sure, never = decides(A, B, nothing(A.shape), nothing(B.shape))
        off_a, off_b = context.off(A), context.off(B)
        steady_sure, steady_never = decides(A, B, off_a, off_b)
        wavering = ~(steady_sure | steady_never) & ((off_a > 0) | (off_b > 0))
        decided(context, wavering)
        return [truth(sure, never, wavering)]

    return apply


def truth(sure: Array, never: Array, wavering: Array) -> Transfer:
    """A truth value: 1, 0 or open, and where an implementation may find another one."""
    low, high = sure.astype(np.float64), (~never).astype(np.float64)
    return Transfer(low, high, wavering.astype(np.float64), element="bool")


def less(A: Value, B: Value, off_a: Array, off_b: Array) -> tuple[Array, Array]:
    """Whether A < B surely holds, and surely does not hold, of values that may be off."""
    sure = above(A.high + off_a) < below(B.low - off_b)
    never = below(A.low - off_a) >= above(B.high + off_b)
    plain = (off_a == 0) & (off_b == 0)
    return np.asarray(sure | (plain & (A.high < B.low))), np.asarray(never | (plain & (A.low >= B.high)))


def greater(A: Value, B: Value, off_a: Array, off_b: Array) -> tuple[Array, Array]:
    """As `less`, for A > B."""
    return less(B, A, off_b, off_a)


def equal(A: Value, B: Value, off_a: Array, off_b: Array) -> tuple[Array, Array]:
    """As `less`, for A = B."""
    same = (A.low == A.high) & (B.low == B.high) & (A.low == B.low) & (off_a == 0) & (off_b == 0)
    return np.asarray(same), np.asarray(less(A, B, off_a, off_b)[0] | less(B, A, off_b, off_a)[0])


def negation(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Not: 1 - X of truth values."""
    [X] = required(inputs, 1)
    return [
        Transfer(
            1 - X.high,
            1 - X.low,
            nothing(X.shape),
            inputs=(X,),
            pulls=(lambda rows: -rows,),
            terms=0,
            propagated=X.error,
            element="bool",
        )
    ]


# ------------------------------------------------------------------ the largest along axes


def reduce_max(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The largest element along axes."""
    [X] = required(inputs, 1)
    axes = constant_axes(context)
    kept = [axis for axis in range(len(X.shape)) if axis not in axes]
    shape, count = tuple(X.shape[axis] for axis in kept), prod(X.shape[axis] for axis in axes)
    if not count:
        raise NotExecutable("ReduceMax of no element has no bound")
    order = (*axes, *kept)
    back = tuple(int(place) + 1 for place in np.argsort(order))

    def slices(array: Array) -> Array:
        return np.asarray(np.transpose(array, order).reshape(count, *shape))

    def candidates(value: Value) -> tuple[Array, Array, Array, Array]:
        return _largest(*[slices(spread(array, value.shape)) for array in (value.low, value.high, value.error)])

    def unsure(value: Value) -> Array:
        open_ = np.broadcast_to(candidates(value)[2] < 0, (count, *shape))
        marks = open_.reshape(*[value.shape[axis] for axis in order]).transpose([number - 1 for number in back])
        return np.asarray(marks & (value.error > 0))

    X = context.refine(X, unsure)
    low, high, chosen, error = candidates(X)
    errors, noise = _parted(chosen, error)
    marks = np.arange(count).reshape(-1, *[1] * len(shape)) == chosen
    out = tuple(1 if axis in axes else X.shape[axis] for axis in range(len(X.shape)))
    out = out if context.parameter("keepdims") else shape

    def pull(rows: Array) -> Array:
        wide = rows.reshape(len(rows), 1, *shape) * marks
        wide = wide.reshape(len(rows), *[X.shape[axis] for axis in order])
        return np.asarray(wide.transpose(0, *back))

    sources = slices(np.arange(prod(X.shape)).reshape(X.shape))
    ideal = largest_of(context, [X], [source.reshape(out) for source in sources])
    return [
        Transfer(low.reshape(out), high.reshape(out), context.moved(out), inputs=(X,), pulls=(pull,), terms=1,
                 propagated=errors.reshape(out), residual=noise.reshape(out), ideal=ideal)
    ]  # fmt: skip


def argmax(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The index of the largest element along an axis.

    The ideal index is one of those whose range reaches the largest lower end, the computed index one of those whose
    range does so after it is widened by the errors.  Where the elements have no error the two are the same, except
    among zeros, whose signs real numbers do not have.
    """
    [X] = required(inputs, 1)
    axis = int(context.parameter("axis")) % max(1, len(X.shape))
    count = X.shape[axis]
    if not count:
        raise NotExecutable("ArgMax of no element has no bound")

    def wanted(value: Value) -> Array:
        sure = below(value.low - value.error).max(axis=axis, keepdims=True)
        possible = above(value.high + value.error) >= sure
        return np.asarray(possible & (possible.sum(axis=axis, keepdims=True) > 1))

    X = context.refine(X, wanted)
    low, high = (np.moveaxis(spread(array, X.shape), axis, 0) for array in (X.low, X.high))
    off = np.moveaxis(spread(context.off(X), X.shape), axis, 0)
    numbers = np.arange(count, dtype=np.float64).reshape(-1, *[1] * (low.ndim - 1))

    def indices(possible: Array) -> tuple[Array, Array]:
        return np.where(possible, numbers, inf).min(axis=0), np.where(possible, numbers, -inf).max(axis=0)

    least, most = indices(high >= low.max(axis=0))
    first, last = indices(above(high + off) >= below(low - off).max(axis=0))
    zeros = (low.max(axis=0) <= 0) & (high.max(axis=0) >= 0)
    moving = (off > 0).any(axis=0) | zeros
    error = np.where(moving, last - first, 0.0)
    decided(context, error > 0)
    keep = bool(context.parameter("keepdims"))
    least, most, error = (np.expand_dims(array, axis) if keep else array for array in (least, most, error))
    return [Transfer(least, most, error, element="int64", saturates=True)]


# ------------------------------------------------------------------ Softmax


def softmax(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y_i = e^(X_i) / sum over j of e^(X_j), along an axis.

    Y_i is least where X_i is least and all others are largest.  Its slopes are Y_i (1 - Y_i) for X_i and - Y_i Y_j.  An
    implementation computes e_i = exp(X_i - m), m the largest of the computed values, adds the e_j in
    any order and divides: with t the relative error of the e_j, the quotient has (1 + t) (1 + g) (1 + u) / (1 - t)
    of its value, and an absolute error of the function counts once, and once for each term of the sum, which is at
    least 1 - t.
    """
    [X] = required(inputs, 1)
    context.require_floats()
    rank = len(X.shape)
    axis = int(context.parameter("axis"))
    before = context.application.version < 13
    axis %= max(1, rank)
    X = context.refine(context.sharpen(X), lambda value: value.error > 0)
    rows = (prod(X.shape[:axis]), prod(X.shape[axis:])) if before else None

    def there(array: Array, lead: int = 0) -> Array:
        """Slices along the last axis."""
        if rows is not None:
            return array.reshape(*array.shape[:lead], *rows)
        return np.moveaxis(array, lead + axis, -1)

    def back(array: Array, lead: int = 0) -> Array:
        if rows is not None:
            return array.reshape(*array.shape[:lead], *X.shape)
        return np.moveaxis(array, -1, lead + axis)

    if not X.low.size:
        return [Transfer(X.low, X.high, nothing(X.shape), inputs=(X,), pulls=(lambda rows: rows,), terms=1)]
    low, high, error = (there(array) for array in (X.low, X.high, X.error))
    wide_low, wide_high = below(low - error), above(high + error)
    y_low, y_high = _share(low, high)
    s_low, s_high = _share(wide_low, wide_high)
    centre = 0.5 * (s_low + s_high)
    radius = above(np.maximum(s_high - centre, centre - s_low))
    n = low.shape[-1]
    linear = grown(centre * (error + (centre * error).sum(axis=-1, keepdims=True)), n + 4)
    rest = grown(
        radius * error + radius * (s_high * error).sum(axis=-1, keepdims=True)
        + centre * (radius * error).sum(axis=-1, keepdims=True), n + 4,
    )  # fmt: skip
    steep = ~(linear + rest <= 1)  # both values lie in [0, 1]
    kept = np.where(steep, 0.0, 1.0)
    linear, rest = np.where(steep, 0.0, linear), np.where(steep, 1.0, rest)
    largest = grown(magnitude(wide_low, wide_high), 1)
    spread = above(wide_high.max(axis=-1, keepdims=True) - wide_low)
    top = grown(s_high, 1)
    introduced = _softmax_error(context, top, spread, n)
    context.require(
        FINITE,
        bool(np.isfinite(largest).all() and (introduced < 1e300).all()),
        "exponentials are at most 1 after the largest argument is subtracted",
    )

    def pull(rows_in: Array) -> Array:
        slices = there(rows_in, 1) * (centre * kept)
        return back(slices - centre * slices.sum(axis=-1, keepdims=True), 1)

    return [
        Transfer(
            back(y_low),
            back(y_high),
            back(introduced),
            inputs=(X,),
            pulls=(pull,),
            terms=n + 4,
            propagated=back(linear),
            residual=back(rest),
        )
    ]


def _share(low: Array, high: Array) -> tuple[Array, Array]:
    """The range of e^(x_i) / sum of e^(x_j), where only x_i is at the other end of its range."""
    top, slack = high.max(axis=-1, keepdims=True), 2.0**-40 + 4 * accumulated(low.shape[-1])
    least, most = (np.exp(array) for array in (below(low - top), above(high - top)))
    upper = most + 2.0**-1020  # what underflows
    s_low = np.where(least > 0, least / (least + _others(upper)), 0.0) * (1 - slack)
    s_high = upper / (upper + _others(least)) * (1 + slack)
    return np.maximum(s_low, 0.0), np.minimum(s_high, 1.0)


def _others(terms: Array) -> Array:
    """The sum of the others for each of the terms, which are at least 0, by the last axis.

    Where a term is at most half of the whole sum, a difference has twice its relative error; the largest one is left
    out by itself.
    """
    largest = terms.argmax(axis=-1)[..., None]
    others = terms.sum(axis=-1, keepdims=True) - terms
    without = np.array(terms)
    np.put_along_axis(without, largest, 0.0, -1)
    np.put_along_axis(others, largest, without.sum(axis=-1, keepdims=True), -1)
    return np.asarray(np.maximum(others, 0.0))


def _softmax_error(context: Context, y: Array, spread: Array, n: int) -> Array:
    hypotheses: Any = context.hypotheses
    element = context.element
    if hypotheses.rounds_once:
        return np.asarray(hypotheses.rounding(element, y))
    accumulator = hypotheses.accumulator(element)
    u = accumulator.unit
    accuracy = hypotheses.functions.get("Exp", hypotheses.functions["default"])
    argument = u * spread * (1 + 2 * u) + hypotheses.least(accumulator)
    relative = np.expm1(argument) * (1 + 2.0**-40) + (2 * accuracy.ulp * u) * np.exp(np.minimum(argument, 700.0))
    worst = relative.max(axis=-1, keepdims=True)
    g = (n + 2) * u / (1 - (n + 2) * u) if (n + 2) * u < 1 else inf
    absolute = accuracy.absolute + 2 * accuracy.ulp * accumulator.tiny + hypotheses.least(accumulator)
    with np.errstate(all="ignore"):
        below_one = 1 - worst - g - n * absolute * (1 + g)
        ratio = (1 + relative) * (1 + 3 * u) / below_one - 1
        bound = y * ratio + absolute * (1 + 3 * u) / below_one + hypotheses.least(accumulator) * 2
        # the sum is at least its largest term, which is at least 1 - worst - absolute of what it should be
        bound = np.where(below_one > 0.01, bound, inf)
        # one e_j is exp(0), none is above it but for the function's error, and each is a term of the sum
        small = g + n * absolute + 2 * accuracy.ulp * u < 2.0**-8
        bound = np.minimum(bound, 1 + 2.0**-4) if small else bound
    bound = grown(np.broadcast_to(bound, y.shape), 20)
    return bound if accumulator.name == element else bound + hypotheses.rounding(element, y + bound)
