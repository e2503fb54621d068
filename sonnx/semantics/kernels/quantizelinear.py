"""QuantizeLinear, fast: the processor's quotient, rint, and the sum in float64, where it is exact within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.settling import BLOCK
from sonnx.semantics.kernels.trust import arithmetic_is_ieee
from sonnx.semantics.quantizelinear import evaluate, quotient_type, require_finite, spread


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def quantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        kind = quotient_type(application, inputs)
        if not (X.dtype == scale.dtype == kind and arithmetic_is_ieee(kind)) or format_of(X.dtype) is None:
            np.copyto(out, evaluate(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        require_finite(X, scale)
        limits = np.iinfo(out.dtype)
        flat, pieces = out.reshape(-1), [each.reshape(-1) for each in (X, scale, zero_point)]
        for start in range(0, flat.size, BLOCK):
            x, s, z = (each[start : start + BLOCK] for each in pieces)
            q = np.rint(np.divide(x, s)).astype(np.float64)
            np.add(q, z, out=q)
            flat[start : start + BLOCK] = np.clip(q, limits.min, limits.max)
        return out

    return quantize
