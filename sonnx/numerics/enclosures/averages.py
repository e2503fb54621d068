"""Transfer functions of averages and normalization: BatchNormalization, pooling of averages, ReduceMean, ReduceSum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import FORMATS, Factors, above, accumulated, below, centre, grown
from sonnx.numerics.enclosures.patches import Patches
from sonnx.numerics.enclosures.sums import Sum, finished, not_known, scaled
from sonnx.numerics.enclosures.values import (
    ARGUMENT,
    Context,
    Linear,
    SumRecord,
    Transfer,
    TransferFunction,
    Value,
    nothing,
)
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import windows


def batch_normalization(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = (X - mean) / sqrt(var + epsilon) scale + B, of constant scale, B, mean and var."""
    X, *rest = inputs[:5]
    if X is None or any(value is None or not value.is_point for value in rest):
        raise NotExecutable("BatchNormalization has a bound for constant scale, B, mean and var only")
    if context.parameter("training_mode"):
        raise NotExecutable("BatchNormalization has no bound in training mode")
    spatial = [1] * (len(X.shape) - 2)
    scale, B, mean, var = (value.low.reshape(-1, *spatial) for value in rest if value is not None)
    epsilon = float(np.float32(context.parameter("epsilon")))
    sum_low, sum_high = below(var + epsilon), above(var + epsilon)
    rounding_format = FORMATS[context.element]
    # epsilon and var + epsilon are numbers of the element type, of which subnormal ones have absolute errors
    off = 0.0 if context.hypotheses.rounds_once else rounding_format.tiny + 2 * context.flushed
    positive = bool((sum_low > 2 * off).all() and (var >= 0).all() and (sum_high < rounding_format.largest).all())
    if not context.require(ARGUMENT, positive, "var + epsilon is positive and finite"):
        return [not_known(X.shape)]
    more = float((2 * off / sum_low).max(initial=0.0)) / rounding_format.unit
    root_low, root_high = below(np.sqrt(sum_low)), above(np.sqrt(sum_high))
    corners = below(scale / root_low), below(scale / root_high), above(scale / root_low), above(scale / root_high)
    k_low, k_high = np.minimum(corners[0], corners[1]), np.maximum(corners[2], corners[3])
    size = np.maximum(np.abs(k_low), np.abs(k_high))
    shift = [mean * k for k in (k_low, k_high)]
    shift_low, shift_high = below(np.minimum(*shift)), above(np.maximum(*shift))
    added = below(B - shift_high), above(B - shift_low)
    added_size = grown(np.abs(B) + np.abs(mean) * size, 3)
    parts = np.maximum(np.maximum(size, np.abs(scale)), above(1 / root_low))
    return [
        scaled(context, X, k_low, k_high, roundings=7 + more, added=added, added_terms=2, added_size=added_size,
               rounded=True, steps=(np.abs(mean), parts))
    ]  # fmt: skip


def average_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The mean of the elements under the kernel, padding counted or not."""
    [X] = required(inputs, 1)
    axes = len(X.shape) - 2
    kernel = context.parameter("kernel_shape")
    pads = list(context.application.numbers("pads", 2 * axes))
    dilations = context.application.numbers("dilations", axes)
    strides = context.application.numbers("strides", axes)
    if context.parameter("auto_pad") != "NOTSET" or context.parameter("ceil_mode"):
        raise NotExecutable("AveragePool has a bound for explicit pads and ceil_mode 0 only")
    patches = Patches(windows(X.shape[2:], kernel, strides, dilations, pads))
    ones = np.ones((1, 1, *X.shape[2:]))
    counted = context.parameter("count_include_pad")
    number = patches.columns(ones, 1.0 if counted else 0.0).sum(axis=2).reshape(1, 1, *patches.places)
    return [_mean(context, X, patches, number)]


def global_average_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The mean over the spatial axes."""
    [X] = required(inputs, 1)
    axes = len(X.shape) - 2
    patches = Patches(windows(X.shape[2:], X.shape[2:], [1] * axes, [1] * axes, [0] * 2 * axes))
    return [_mean(context, X, patches, np.full((1, 1, *[1] * axes), float(patches.size)))]


def _mean(context: Context, X: Value, patches: Patches, number: Array) -> Transfer:
    """The sums under the kernel over the numbers of their terms."""
    context.require_floats()
    lead, n = X.shape[:2], patches.size
    out = (*lead, *patches.places)

    def sums(x: Array) -> Array:
        return np.asarray(patches.columns(x).sum(axis=2).reshape(out))

    def pull(rows: Array) -> Array:
        shares = (rows / number).reshape(len(rows), *lead, 1, prod(patches.places))
        return patches.scattered(np.broadcast_to(shares, (len(rows), *lead, n, prod(patches.places))))

    middle, radius = centre(X.low, X.high)
    size = np.abs(middle)
    wide = grown(sums(radius) / number, n + 2)
    wide = grown(wide + accumulated(n + 3) * (sums(size) / number + wide), 4)
    mean = sums(middle) / number
    low, high = below(mean - wide), above(mean + wide)
    error = grown(sums(X.error) / number, n + 2)
    absolute = grown(sums(X.computed) / number, n + 2)
    part = _mean_record(context, X, n, absolute, absolute * number, error)
    sum_ = Sum(
        low,
        high,
        parts=[part],
        terms=n,
        scalings=2,
        depth=part.depth,
        inputs=(X,),
        pulls=(pull,),
        pull_terms=n + 2,
        propagated=error,
        residual=0.0,
        relaxed=Linear(nothing(out), nothing(out)),
        local=(patches.neighbourhood,),
    )
    return finished(context, sum_)


def _mean_record(context: Context, X: Value, n: int, absolute: Array, sums: Array, error: Array) -> SumRecord:
    """A mean of n terms; `sums` bounds the partial sums before the division."""
    factors = Factors.of(X.largest).scaled(1.0, everywhere=True, steps=2)
    depth = context.hypotheses.order.depth(n)
    return SumRecord(
        absolute=absolute,
        terms=n,
        scalings=2,
        depth=depth,
        factors=factors,
        propagated=error,
        introduced=nothing(absolute.shape),
        reach=grown(sums, 1),
    )


def constant_axes(context: Context) -> tuple[int, ...]:
    """The axes that are reduced, ascending, as the data file of the operator names them.

    Raises:
        NotExecutable: they are not known.
    """
    gone = context.parameter("gone")
    if not isinstance(gone, list | tuple):
        raise NotExecutable(f"{context.application.operator} has a bound for constant axes only")
    return tuple(sorted(gone))


def reduce_mean_or_sum(*, mean: bool) -> TransferFunction:
    """ReduceMean and ReduceSum: sums along axes."""

    def reduce(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
        [X] = required(inputs, 1)
        axes = constant_axes(context)
        keep = bool(context.parameter("keepdims"))
        n = max(1, prod(X.shape[axis] for axis in axes))
        share = float(n) if mean else 1.0
        if mean:
            context.require_floats()
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(X.shape))

        def sums(x: Array) -> Array:
            array: Array = np.asarray(x.sum(axis=axes, keepdims=keep)) / share
            return array

        def pull(rows: Array) -> Array:
            whole = (rows / share).reshape(len(rows), *kept)
            return np.broadcast_to(whole, (len(rows), *X.shape))

        middle, radius = centre(X.low, X.high)
        wide = grown(sums(radius), n + 2)
        wide = grown(wide + accumulated(n + 3) * (sums(np.abs(middle)) + wide), 4)
        low, high = below(sums(middle) - wide), above(sums(middle) + wide)
        error, absolute = grown(sums(X.error), n + 2), grown(sums(X.computed), n + 2)
        scalings, depth = 2 if mean else 0, context.hypotheses.order.depth(n)
        part = (
            _mean_record(context, X, n, absolute, absolute * share, error)
            if mean
            else SumRecord(
                absolute=absolute,
                terms=n,
                scalings=0,
                depth=depth,
                factors=Factors.of(X.largest),
                propagated=error,
                introduced=nothing(low.shape),
            )
        )
        fixed = Linear(nothing(low.shape), nothing(low.shape))
        sum_ = Sum(
            low,
            high,
            parts=[part],
            terms=n,
            scalings=scalings,
            depth=part.depth,
            inputs=(X,),
            pulls=(pull,),
            pull_terms=2,
            propagated=error,
            residual=0.0,
            relaxed=fixed,
        )
        return [finished(context, sum_)]

    return reduce
