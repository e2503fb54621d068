"""BatchNormalization, fast: Y = t + B with t = (X - input_mean) k and k = scale / sqrt(input_var + epsilon) in float64.

k is made by three roundings and a square root of a rounded sum, t by two more: with u = 2^-53 it is off by at most
6 u |t|.  Nothing overflows or underflows there, so an infinity or NaN is that of the exact formula, and where t is 0
the sum is B itself.  float64 goes to the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.batchnormalization import require_inference, store_element
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.certified import decided
from sonnx.semantics.kernels.settled import UNIT

BLOCK = 1 << 16
"""Elements that are made at a time."""


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
    if any(each.dtype == np.float64 for each in inputs):
        for index in np.ndindex(out.shape):
            store_element(out, index, inputs, epsilon)
        return out.size
    scale, B, mean, variance = (each.astype(np.float64).reshape(-1, 1) for each in inputs[1:])
    k = scale / np.sqrt(variance + float(epsilon))
    shape = (X.shape[0], *X.shape[1:2], prod(X.shape[2:])) if rank > 1 else (1, 1, X.size)
    elements, made = X.reshape(shape), out.reshape(shape)
    step, exact = max(1, BLOCK // max(1, shape[2])), 0
    for n in range(shape[0]):
        for c in range(0, shape[1], step):
            part = slice(c, c + step)
            t = (elements[n, part] - mean[part]) * k[part]
            values, open_ = _rounded(t, B[part], out.dtype)
            made[n, part] = values
            for channel, place in np.argwhere(open_).tolist():
                flat = (n * shape[1] + c + channel) * shape[2] + place
                store_element(out, tuple(int(i) for i in np.unravel_index(flat, out.shape)), inputs, epsilon)
                exact += 1
    return exact


def _rounded(t: Array, B: Array, kind: np.dtype[np.generic]) -> tuple[Array, Array]:
    made = t + B
    bound = np.abs(t)
    bound *= 8 * UNIT
    np.copyto(bound, 0, where=~np.isfinite(made))
    return decided(made, bound, kind)
