"""HardSwish: Y[i] = X[i] * max(0, min(1, X[i] / 6 + 1/2)) over the reals, rounded once.

ONNX HardSwish-14 to HardSwish-22: alpha is 1/6 and beta 1/2, exactly.  Where the second factor is 0 the product is
that of IEEE 754: -0 for numbers up to -3, NaN for -Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import NAN, ZERO, certain, is_infinite, is_zero
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "HardSwish"
INPUTS = 1
outputs = floats_alike

LOW, HIGH = -3, 3
"""Where the second factor becomes 0 and 1."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(hard_swish, inputs[0]),)


def hard_swish(x: Any, once: Any) -> Any:
    """X * (x + 3) / 6 between -3 and 3, -0 below, x above."""
    if x <= LOW:
        return NAN if is_infinite(x) else -ZERO
    if x >= HIGH or is_zero(x) or x != x:
        return x
    sign = -1 if x < 0 else 1
    return sign * certain(
        once,
        lambda down, up: (
            down.div(down.mul(abs(x), down.add(x, HIGH)), 6),
            up.div(up.mul(abs(x), up.add(x, HIGH)), 6),
        ),
    )


# ------------------------------------------------------------------
# HardSwish, fast: x * min(max(x + 3, 0) / 6, 1) in the wider type, every rounding relative.


BOUND = Bound(2.0**-46)
"""Three roundings are 3 units of 2^-53; in long double, where this becomes 2^-60, 3 of 2^-64."""


def approximate(x: Array, out: Array) -> None:
    """X * max(0, min(1, x / 6 + 1 / 2))."""
    factor = np.minimum(np.maximum(x + HIGH, 0) / 6, 1)
    np.multiply(x, factor, out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, hard_swish, approximate, BOUND)
