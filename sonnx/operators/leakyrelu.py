"""LeakyRelu: Y[i] = X[i] if X[i] >= 0, alpha * X[i] if X[i] < 0, rounded once.

SONNX LeakyRelu of 2026-08; ONNX LeakyRelu-1 to LeakyRelu-16.  An element that is not below -0 stays bit for bit, -0,
+Inf and NaN too.  alpha is the real number that is stored (erratum leakyrelu-alpha-conversion); the product is that of
IEEE 754, NaN for alpha = 0 and X[i] = -Inf (erratum leakyrelu-nan).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.certified_rounding import DOUBLE
from sonnx.numerics.correctly_rounded import to_mpfr
from sonnx.numerics.elementwise import each
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import Array
from sonnx.numerics.numpy_trials import maximum_keeps_the_first_nan
from sonnx.numerics.rounding import canonicalize_nans, narrow
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator

_WIDE = Scratch()


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X, alpha = inputs[0], to_mpfr(application.names["alpha"])

    def product(x: Any, once: Any) -> Any:
        return once.mul(alpha, x)

    return (np.where(np.less(X, 0), each(product, X), X),)


def kernel(application: Application) -> Kernel:
    """The product with alpha, rounded once, where an element is negative.

    alpha has 24 digits, so its product with a float, float16 or bfloat16 is exact in float64; for double the product of
    the processor is rounded once.  For 0 < alpha <= 1 the product, rounded or not, is not below a negative element and
    not above another one, and a zero or a NaN is that of the element: then the larger of both is the value.
    """
    alpha = np.float64(application.names["alpha"])

    def leaky_relu(inputs: Sequence[Any], out: Array) -> Array:
        larger = 0 < alpha <= 1 and out.itemsize > 2 and maximum_keeps_the_first_nan(out.dtype)
        X, flat = np.ascontiguousarray(inputs[0]).reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, BLOCK_ELEMENTS):
            x, y = X[start : start + BLOCK_ELEMENTS], flat[start : start + BLOCK_ELEMENTS]
            if larger:
                wide = _WIDE.array(x.size, DOUBLE)
                np.multiply(x, alpha, out=wide)
                np.copyto(y, wide, casting="same_kind")
                np.maximum(x, y, out=y)
                continue
            product = narrow(x.astype(np.float64) * alpha, y.dtype)
            canonicalize_nans(product)
            np.copyto(y, x)
            np.copyto(y, product, where=x < 0)
        return out

    return leaky_relu


OPERATOR = Operator(name="LeakyRelu", define=define, kernel=kernel, bound=rectifiers.leaky_relu)
