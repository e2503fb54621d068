"""BatchNormalization: Y[n, c, ..] = scale[c] * (X[n, c, ..] - input_mean[c]) / sqrt(input_var[c] + epsilon) + B[c].

SONNX BatchNormalization of 2026-08; ONNX BatchNormalization-1 to BatchNormalization-15, inference, which is_test states
before version 7.  The exact value of the formula is rounded once (erratum batch-normalization-order); epsilon is the
exact number of the attribute (erratum batch-normalization-epsilon-rounds-to-zero).  Special values are those of IEEE
754 in the order of the formula: the difference, the product with scale, the quotient, the sum (erratum
batch-normalization-special-values).  With X of rank 1 there is one channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import TypeAlias

import numpy as np

from sonnx.numerics.application import Application, Definition, Kernel, NoValue
from sonnx.numerics.blocks import BlockSize, usual_size
from sonnx.numerics.certified_rounding import DOUBLE, LONG_DOUBLE, SINGLE, UNIT, certify, half_width, wide_type
from sonnx.numerics.enclosures import averages
from sonnx.numerics.enclosures.values import ARGUMENT
from sonnx.numerics.exact_sums import Number, exact_element, over, rounded, times, total
from sonnx.numerics.formats import Array, is_small_float, patterns
from sonnx.numerics.rounding import canonicalize_nans, grid_of, to_nearest
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator

VARIANCE_NOT_NEGATIVE = "BatchNormalization.variance-not-negative"

CHANNEL_ELEMENTS = 1 << 16
"""Elements of the channels that are computed at a time; at least one channel."""

_MADE, _HIGH = Scratch(), Scratch()


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X.

    Raises:
        NoValue: training, or a variance that is negative or NaN.
    """
    epsilon = require_inference(application, inputs[4])
    Y = np.empty(inputs[0].shape, inputs[0].dtype)
    for index in np.ndindex(Y.shape):
        store_element(Y, index, inputs, epsilon)
    return (Y,)


def require_inference(application: Application, variance: Array) -> Fraction:
    """The epsilon of a node that infers.

    Raises:
        NoValue: training, or a variance that is negative or NaN.
    """
    if application.parameter("training_mode") or application.parameter("is_test") == 0:
        raise NoValue("BatchNormalization.inference-mode", "training replaces the statistics that are given")
    bad = np.flatnonzero(~(variance.astype(np.float64) >= 0))
    if len(bad):
        text = f"input_var[{bad[0]}] is {float(variance[bad[0]])}"
        raise NoValue(VARIANCE_NOT_NEGATIVE, text)
    return Fraction(application.names["epsilon"])


def store_element(Y: Array, index: tuple[int, ...], inputs: Sequence[Array], epsilon: Fraction) -> None:
    """Put the element with this index into Y."""
    c = (index[1] if Y.ndim > 1 else 0,)
    X, scale, B, mean, variance = inputs
    digits = 1 - min(grid_of(operand.dtype).least for operand in inputs)
    deviation = total([exact_element(X, index), times(-1, exact_element(mean, c))])
    spread = total([exact_element(variance, c), epsilon])
    quotient = over_root(times(exact_element(scale, c), deviation), spread, digits)
    patterns(Y)[index] = rounded(total([quotient, exact_element(B, c)]), 0, Y.dtype)


def over_root(x: Number, square: Number, digits: int) -> Number:
    """The quotient of x and the square root, which rounds as the exact one does, alone or with an element added.

    It is cut to `digits` binary digits after the point.  Where something was cut off, half a unit is put in its place:
    every element and every number halfway between two is a multiple of the unit, so none lies between the two.
    """
    if square < 0:
        return math.nan
    if isinstance(x, float) or isinstance(square, float):
        return over(x, math.sqrt(square) if isinstance(square, float) else 1)
    ratio = x * x / Fraction(square) * 4**digits
    root = math.isqrt(ratio.numerator // ratio.denominator)
    number = Fraction(2 * root + (root * root != ratio), 2 << digits)
    return number if x > 0 else -number


def kernel(application: Application) -> Kernel:
    """Y = X k + c with k = scale / sqrt(input_var + epsilon) and c = B - input_mean k, in float64.

    With u = 2^-53, k is off by at most 4 u of itself, X k by 5 u, c by 6 u (|B| + |input_mean k|), and |X k| is at most
    |Y| + |c|; so Y is off by at most 6 u |Y| + 16 u (|B| + |input_mean k|), |Y| at most max |X k| + |c|.
    Elements that this leaves open are computed as t + B with t = (X - input_mean) k, off by at most 6 u |t|: where t is
    0 the sum is B itself, and an infinity or NaN is that of the exact formula, because nothing overflows or underflows.
    Where an operand is of float64, the formula is computed in long double, if that is wider: see `_in_long_double`.
    The rest goes to the definition.
    """

    def batch_normalization(inputs: Sequence[Array], out: Array) -> Array:
        epsilon, own = require_inference(application, inputs[4]), inputs[1:]
        role, size = f"channels with epsilon {epsilon}", 6 * 8 * inputs[4].size
        channels = application.constants.form(role, own, size, lambda: Channels(own, epsilon))
        application.count(out.size, normalize(inputs, epsilon, out, channels, application.block))
        return out

    return batch_normalization


class Channels:
    """What the channels are computed with, in float64, each of shape (channels, 1)."""

    def __init__(self, inputs: Sequence[Array], epsilon: Fraction) -> None:
        scale, self.B, self.mean, variance = (operand.astype(DOUBLE).reshape(-1, 1) for operand in inputs)
        self.k = scale / np.sqrt(variance + float(epsilon))
        shift = self.mean * self.k
        self.c, self.size, self.slope = self.B - shift, np.abs(self.B) + np.abs(shift), np.abs(self.k)


def normalize(
    inputs: Sequence[Array],
    epsilon: Fraction,
    out: Array,
    channels: Channels | None = None,
    block: BlockSize = usual_size,
) -> int:
    """Y in `out`; how many elements took the exact path."""
    X = inputs[0]
    if not out.size:
        return 0
    if DOUBLE in {operand.dtype for operand in inputs}:
        return _normalize_doubles(inputs, epsilon, out, block)
    channels = channels or Channels(inputs[1:], epsilon)
    shape = _by_channel(X.shape)
    elements, array = X.reshape(shape), out.reshape(shape)
    exact = 0
    for n, part in _parts(shape, block):
        undecided = _certified(elements[n, part], channels, part, array[n, part])
        if not np.count_nonzero(undecided):
            continue
        channel, place = np.divmod(np.flatnonzero(undecided), shape[2])
        channel += part.start
        t = (elements[n, channel, place] - channels.mean[channel, 0]) * channels.k[channel, 0]
        values, open_ = _rounded(t, channels.B[channel, 0], out.dtype)
        array[n, channel, place] = values
        exact += _store_elements(out, (n, channel[open_], place[open_]), inputs, epsilon)
    return exact


def _by_channel(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """The extents of the batch, the channels, and the elements of a channel."""
    return (shape[0], shape[1], prod(shape[2:])) if len(shape) > 1 else (1, 1, prod(shape))


def _parts(shape: tuple[int, int, int], block: BlockSize) -> Iterator[tuple[int, slice]]:
    """Channels that are computed at a time, each part with its place in the batch."""
    step = max(1, block(CHANNEL_ELEMENTS) // max(1, shape[2]))
    for n in range(shape[0]):
        for c in range(0, shape[1], step):
            yield n, slice(c, c + step)


def _store_elements(out: Array, places: tuple[int, Array, Array], inputs: Sequence[Array], epsilon: Fraction) -> int:
    """Compute elements by the definition; how many these are.

    Args:
        out: the output.
        places: one of the batch, the channels of the elements, and their places in these.
        inputs: those of the node.
        epsilon: the exact number of the attribute.
    """
    shape, (n, channels, of_channel) = _by_channel(out.shape), places
    first: dict[tuple[int, int], tuple[int, ...]] = {}  # equal elements of a channel have equal results
    bits = patterns(inputs[0])
    for c, place in zip(channels.tolist(), of_channel.tolist(), strict=True):
        index = tuple(int(each) for each in np.unravel_index((n * shape[1] + c) * shape[2] + place, out.shape))
        earlier = first.setdefault((int(bits[index]), c), index)
        if earlier == index:
            store_element(out, index, inputs, epsilon)
        else:
            out[index] = out[earlier]
    return len(channels)


def _normalize_doubles(inputs: Sequence[Array], epsilon: Fraction, out: Array, block: BlockSize) -> int:
    """As `normalize`, where an operand is of float64."""
    shape = _by_channel(out.shape)
    elements, array = inputs[0].reshape(shape), out.reshape(shape)
    wide = wide_type(DOUBLE) is not None
    columns = [operand.astype(LONG_DOUBLE).reshape(-1, 1) for operand in inputs[1:]] if wide else []
    exact = 0
    for n, part in _parts(shape, block):
        undecided = np.ones(array[n, part].shape, np.bool_)
        if wide:
            own = [column[part] for column in columns]
            undecided = _in_long_double(elements[n, part], own, float(epsilon), array[n, part])
        channel, place = np.divmod(np.flatnonzero(undecided), shape[2])
        exact += _store_elements(out, (n, channel + part.start, place), inputs, epsilon)
    return exact


def _in_long_double(X: Array, columns: Sequence[Array], epsilon: float, out: Array) -> Array:
    """Y of some channels where long double decides it, and a mask of the other elements.

    With v = 2^-64, t = (X - mean) scale / sqrt(variance + epsilon) is off by at most 5 v |t|: by v for each of the
    difference, the product, the root and the quotient, and by v / 2 for the sum under the root, besides products of
    these.  Nothing overflows or underflows: the exponents of long double reach sixteen times as far as those of double.
    So infinities, NaNs and zeros of t are those of the exact formula, and where t is 0 the sum is B itself.
    """
    scale, B, mean, variance = columns
    t = X.astype(LONG_DOUBLE)
    t -= mean
    t *= scale
    t /= np.sqrt(variance + LONG_DOUBLE.type(epsilon))
    y = t + B
    special: Array = ~np.isfinite(y) | (t == 0)
    width = np.abs(t) * LONG_DOUBLE.type(2.0**-61) + np.abs(y) * LONG_DOUBLE.type(2.0**-62)
    np.copyto(width, 0, where=special)
    low, high = ((y + end).astype(DOUBLE) for end in (-width, width))
    if out.dtype != DOUBLE:  # one rounding to double and another one are not one rounding; their ends are wide enough
        np.copyto(low, np.nextafter(low, -np.inf), where=~special)
        np.copyto(high, np.nextafter(high, np.inf), where=~special)
        low, high = to_nearest(low, out.dtype), to_nearest(high, out.dtype)
    out[...] = low
    canonicalize_nans(out)
    undecided: Array = ~special & (patterns(low) != patterns(high))
    return undecided


def _certified(X: Array, channels: Channels, part: slice, out: Array) -> Array:
    """Y of some channels of float32 where X k + c decides it, and a mask of the other elements."""
    if out.dtype != SINGLE:
        return np.ones(out.shape, np.bool_)
    array, high = (
        memory.array(out.size, kind).reshape(out.shape) for memory, kind in ((_MADE, DOUBLE), (_HIGH, SINGLE))
    )
    most, size = float(np.maximum.reduce(np.abs(X, out=high), axis=None)), channels.size[part]
    largest = (channels.slope[part] * most + size) * (1 + 8 * UNIT)
    if not np.isfinite(largest).all():
        return np.ones(out.shape, np.bool_)
    width, c = half_width(6 * UNIT * largest + 16 * UNIT * size, largest), channels.c[part]
    np.multiply(X, channels.k[part], out=array)
    np.add(array, c - width, out=out, casting="same_kind")
    np.add(array, c + width, out=high, casting="same_kind")
    undecided: Array = out.view(np.uint32) != high.view(np.uint32)
    return undecided


def _rounded(t: Array, B: Array, kind: np.dtype[np.generic]) -> tuple[Array, Array]:
    array = t + B
    bound = np.abs(t)
    bound *= 8 * UNIT
    np.copyto(bound, 0, where=~np.isfinite(array))
    return certify(array, bound, kind)


Order: TypeAlias = Callable[[Array, Array, Array], Array]
"""The difference from the mean times the scale over the root, in an order of the operations."""

ORDERS: tuple[Order, ...] = (
    lambda difference, scale, root: difference / root * scale,
    lambda difference, scale, root: difference * scale / root,
    lambda difference, scale, root: difference * (scale / root),
    lambda difference, scale, root: difference * (1 / root) * scale,
    lambda difference, scale, root: difference * (1 / root * scale),
)
"""The page divides first, the formal draft scales first; where an operation overflows or gives 0, they differ."""


def rounded_in_steps(order: Order, *, in_one_type: bool) -> Definition:
    """Y with every operation of an order rounded, a reading of erratum batch-normalization-order.

    Args:
        order: the order of the operations.
        in_one_type: convert all inputs to one type first; else each operation has the type of its operands.
    """

    def define_in_steps(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
        epsilon, kinds = require_inference(application, inputs[4]), {operand.dtype for operand in inputs}
        common = kinds.pop() if len(kinds) == 1 else DOUBLE if DOUBLE in kinds else SINGLE
        native = not any(is_small_float(operand.dtype) for operand in inputs)
        X, *rows = (operand.astype(common) if in_one_type or not native else operand for operand in inputs)
        scale, B, mean, variance = (row.reshape(-1, *[1] * (X.ndim - 2)) if X.ndim > 1 else row for row in rows)
        root = np.sqrt(variance + np.asarray(float(epsilon)).astype(variance.dtype))
        return ((order(X - mean, scale, root) + B).astype(inputs[0].dtype),)

    return define_in_steps


OPERATOR = Operator(
    name="BatchNormalization",
    continuous=True,
    may_overflow_inside=True,
    define=define,
    kernel=kernel,
    error_conditions=(VARIANCE_NOT_NEGATIVE,),
    shown_by={VARIANCE_NOT_NEGATIVE: ARGUMENT},
    bound=averages.batch_normalization,
    other_readings={
        "batch-normalization-order": tuple(
            rounded_in_steps(order, in_one_type=in_one_type) for order in ORDERS for in_one_type in (True, False)
        )
    },
)
