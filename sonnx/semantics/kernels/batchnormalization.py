"""BatchNormalization, fast: Y = X k + c with k = scale / sqrt(input_var + epsilon), c = B - input_mean k, in float64.

With u = 2^-53, k is off by at most 4 u of itself, X k by 5 u, c by 6 u (|B| + |input_mean k|), and |X k| is at most
|Y| + |c|; so Y is off by at most 6 u |Y| + 16 u (|B| + |input_mean k|), for |Y| the largest of the channel.  What this
leaves open is asked again as t + B with t = (X - input_mean) k, off by at most 6 u |t|: where t is 0 the sum is B
itself, and an infinity or NaN is that of the exact formula, because nothing overflows or underflows.  The rest, and
float64, goes to the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.batchnormalization import require_inference, store_element
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.certified import UNIT, certain, decided, half_width
from sonnx.semantics.kernels.scratch import scratch

BLOCK = 1 << 17
"""Elements that are made at a time."""

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)

MADE, HIGH = range(40, 42)
"""Numbers of scratch memory."""


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def batch_normalization(inputs: Sequence[Array], out: Array) -> Array:
        epsilon = require_inference(application, inputs[4])
        application.count(out.size, normalize(inputs, epsilon, out))
        return out

    return batch_normalization


def normalize(inputs: Sequence[Array], epsilon: Fraction, out: Array) -> int:
    """Y in `out`; how many elements took the exact path."""
    X, rank = inputs[0], inputs[0].ndim
    if any(each.dtype == DOUBLE for each in inputs):
        for index in np.ndindex(out.shape):
            store_element(out, index, inputs, epsilon)
        return out.size
    scale, B, mean, variance = (each.astype(DOUBLE).reshape(-1, 1) for each in inputs[1:])
    k = scale / np.sqrt(variance + float(epsilon))
    shape = (X.shape[0], *X.shape[1:2], prod(X.shape[2:])) if rank > 1 else (1, 1, X.size)
    elements, made = X.reshape(shape), out.reshape(shape)
    step, exact = max(1, BLOCK // max(1, shape[2])), 0
    for n in range(shape[0]):
        for c in range(0, shape[1], step):
            part = slice(c, c + step)
            channel, place = np.divmod(_guess(elements[n, part], k[part], mean[part], B[part], made[n, part]), shape[2])
            if not len(channel):
                continue
            channel += c
            t = (elements[n, channel, place] - mean[channel, 0]) * k[channel, 0]
            values, open_ = _rounded(t, B[channel, 0], out.dtype)
            made[n, channel, place] = values
            for i in np.flatnonzero(open_).tolist():
                flat = (n * shape[1] + channel[i]) * shape[2] + place[i]
                store_element(out, tuple(int(j) for j in np.unravel_index(flat, out.shape)), inputs, epsilon)
                exact += 1
    return exact


def _guess(X: Array, k: Array, mean: Array, B: Array, out: Array) -> Array:
    """Y of some channels of float32 where X k + c decides it, and the flat numbers of the other elements."""
    shifted = mean * k
    if out.dtype != SINGLE or not np.isfinite(k + shifted + B).all():
        return np.arange(out.size)
    made, high = (
        scratch(number, out.size, kind).reshape(out.shape) for number, kind in ((MADE, DOUBLE), (HIGH, SINGLE))
    )
    np.multiply(X, k, out=made)
    made += B - shifted
    largest = np.maximum(made.max(axis=1, keepdims=True), -made.min(axis=1, keepdims=True))
    if not np.isfinite(largest).all():
        return np.arange(out.size)
    bound = 6 * UNIT * largest + 16 * UNIT * (np.abs(B) + np.abs(shifted))
    return certain(made, half_width(bound, largest), out, high)


def _rounded(t: Array, B: Array, kind: np.dtype[np.generic]) -> tuple[Array, Array]:
    made = t + B
    bound = np.abs(t)
    bound *= 8 * UNIT
    np.copyto(bound, 0, where=~np.isfinite(made))
    return decided(made, bound, kind)
