"""Transfer functions of averages and normalization: BatchNormalization, pooling of averages, ReduceMean, ReduceSum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import required
from sonnx.numerics.enclosures.arithmetic import FORMATS, UNIT, above, accumulated, below, centre, grown
from sonnx.numerics.enclosures.patches import Patches
from sonnx.numerics.enclosures.sums import Sum, finished, finite, not_known, scaled
from sonnx.numerics.enclosures.values import Context, Linear, SumRecord, Transfer, TransferFunction, Value, nothing
from sonnx.numerics.formats import Array
from sonnx.numerics.windows import windows


def batch_normalization(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """Y = (X - mean) / sqrt(var + epsilon) scale + B, of constant scale, B, mean and var."""
    X, *rest = inputs[:5]
    if X is None or any(each is None or not each.is_point for each in rest):
        raise NotExecutable("BatchNormalization has a bound for constant scale, B, mean and var only")
    if context.parameter("training_mode", 0):
        raise NotExecutable("BatchNormalization has no bound in training mode")
    spatial = [1] * (len(X.shape) - 2)
    scale, B, mean, var = (each.low.reshape(-1, *spatial) for each in rest if each is not None)
    epsilon = float(np.float32(context.parameter("epsilon", 1e-5)))
    sum_low, sum_high = below(var + epsilon), above(var + epsilon)
    unit = FORMATS[context.element].unit
    if not context.require(
        "argument", bool((sum_low > context.flushed).all() and (var >= 0).all()), "var + epsilon is positive"
    ):
        return [not_known(X.shape)]
    root_low, root_high = below(np.sqrt(sum_low)), above(np.sqrt(sum_high))
    corners = below(scale / root_low), below(scale / root_high), above(scale / root_low), above(scale / root_high)
    k_low, k_high = np.minimum(corners[0], corners[1]), np.maximum(corners[2], corners[3])
    size = np.maximum(np.abs(k_low), np.abs(k_high))
    shift = [mean * k for k in (k_low, k_high)]
    shift_low, shift_high = below(np.minimum(*shift)), above(np.maximum(*shift))
    added = below(B - shift_high), above(B - shift_low)
    added_size = grown(np.abs(B) + np.abs(mean) * size, 3)
    assert unit < 1  # noqa: S101  a floating-point type
    return [scaled(context, X, k_low, k_high, roundings=7, added=added, added_terms=2, added_size=added_size)]


def average_pool(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The mean of the elements under the kernel, padding counted or not."""
    [X] = required(inputs, 1)
    axes = len(X.shape) - 2
    kernel = context.parameter("kernel_shape")
    pads = list(context.parameter("pads", [0] * 2 * axes))
    dilations = context.parameter("dilations", [1] * axes)
    strides = context.parameter("strides", [1] * axes)
    if context.parameter("auto_pad", "NOTSET") != "NOTSET" or context.parameter("ceil_mode", 0):
        raise NotExecutable("AveragePool has a bound for explicit pads and ceil_mode 0 only")
    patches = Patches(windows(X.shape[2:], kernel, strides, dilations, pads))
    ones = np.ones((1, 1, *X.shape[2:]))
    counted = context.parameter("count_include_pad", 0)
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
    operands = X.largest + 1.0
    part = SumRecord(absolute, n, 2, context.hypotheses.order.depth(n), 1.0, operands, error, nothing(out))
    # overflow: a partial sum is up to n times the mean, before the division
    finite(
        context, absolute * number, absolute * number, absolute * number * (n * 2 * FORMATS[context.element].unit), n
    )
    made = Sum(
        low, high, [part], n, 2, part.depth, (X,), (pull,), n + 2, error, 0.0, Linear(nothing(out), nothing(out))
    )
    return finished(context, made)


def reduced_axes(context: Context) -> tuple[int, ...]:
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
        axes = reduced_axes(context)
        keep = bool(context.parameter("keepdims", 1))
        n = max(1, prod(X.shape[axis] for axis in axes))
        share = float(n) if mean else 1.0
        if mean:
            context.require_floats()
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(X.shape))

        def sums(x: Array) -> Array:
            made: Array = np.asarray(x.sum(axis=axes, keepdims=keep)) / share
            return made

        def pull(rows: Array) -> Array:
            whole = (rows / share).reshape(len(rows), *kept)
            return np.broadcast_to(whole, (len(rows), *X.shape))

        middle, radius = centre(X.low, X.high)
        wide = grown(sums(radius), n + 2)
        wide = grown(wide + accumulated(n + 3) * (sums(np.abs(middle)) + wide), 4)
        low, high = below(sums(middle) - wide), above(sums(middle) + wide)
        error, absolute = grown(sums(X.error), n + 2), grown(sums(X.computed), n + 2)
        operands = X.largest + 1.0
        scalings = 2 if mean else 0
        part = SumRecord(
            absolute, n, scalings, context.hypotheses.order.depth(n), 1.0, operands, error, nothing(low.shape)
        )
        finite(context, absolute * share, absolute * share, absolute * share * (n * 2 * UNIT), n)
        fixed = Linear(nothing(low.shape), nothing(low.shape))
        made = Sum(low, high, [part], n, scalings, part.depth, (X,), (pull,), 2, error, 0.0, fixed)
        return [finished(context, made)]

    return reduce
