"""DequantizeLinear, fast: the difference in int64, its one rounding, and the processor's product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.dequantizelinear import evaluate, spread
from sonnx.semantics.formats import ELEMENTS, Array
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.settling import BLOCK, one_nan
from sonnx.semantics.kernels.trust import arithmetic_is_ieee

EXACT = 2
"""Bytes of X up to which its differences are exact in float, and rounded once from there."""


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def dequantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        direct = scale.dtype in (ELEMENTS["float"], ELEMENTS["double"]) or X.itemsize <= EXACT
        if scale.dtype != out.dtype or not direct or not arithmetic_is_ieee(out.dtype):
            np.copyto(out, evaluate(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        flat, pieces = out.reshape(-1), [each.reshape(-1) for each in (X, scale, zero_point)]
        for start in range(0, flat.size, BLOCK):
            x, s, z = (each[start : start + BLOCK] for each in pieces)
            difference = x.astype(np.int64) - z
            y = flat[start : start + BLOCK]
            np.multiply(difference.astype(scale.dtype), s, out=y)
            one_nan(y)
        return out

    return dequantize
