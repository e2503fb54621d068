"""LeakyRelu, fast: the product with alpha, rounded once, where an element is negative.

alpha has 24 digits, so its product with a float, float16 or bfloat16 is exact in float64; for double the product of
the processor is rounded once.  For 0 < alpha <= 1 the product, rounded or not, is not below a negative element and not
above another one, and a zero or a NaN is that of the element: then the larger of both is the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.scratch import scratch
from sonnx.semantics.kernels.settling import BLOCK, WIDE, one_nan
from sonnx.semantics.kernels.trust import maximum_keeps_the_first_nan
from sonnx.semantics.rounding import narrow


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    alpha = np.float64(application.names["alpha"])

    def leaky_relu(inputs: Sequence[Any], out: Array) -> Array:
        larger = 0 < alpha <= 1 and out.itemsize > 2 and maximum_keeps_the_first_nan(out.dtype)
        X, flat = np.ascontiguousarray(inputs[0]).reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            x, y = X[start : start + BLOCK], flat[start : start + BLOCK]
            if larger:
                wide = scratch(0, x.size, WIDE)
                np.multiply(x, alpha, out=wide)
                np.copyto(y, wide, casting="same_kind")
                np.maximum(x, y, out=y)
                continue
            product = narrow(x.astype(np.float64) * alpha, y.dtype)
            one_nan(product)
            np.copyto(y, x)
            np.copyto(y, product, where=x < 0)
        return out

    return leaky_relu
