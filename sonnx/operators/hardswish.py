"""HardSwish: Y[i] = X[i] * max(0, min(1, X[i] / 6 + 1/2)) over the reals, rounded once.

ONNX HardSwish-14 to HardSwish-22: alpha is 1/6 and beta 1/2, exactly.  Where the second factor is 0 the product is
that of IEEE 754: -0 for numbers up to -3, NaN for -Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import NAN, ZERO, is_infinite, is_zero, round_enclosed
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

LOW, HIGH = -3, 3
"""Where the second factor becomes 0 and 1."""

BOUND = Bound(2.0**-46)
"""Three relative roundings are 3 units of 2^-53; in long double, where this becomes 2^-60, 3 of 2^-64."""


def hard_swish(x: Any, once: Any) -> Any:
    """X * (x + 3) / 6 between -3 and 3, -0 below, x above."""
    if x <= LOW:
        return NAN if is_infinite(x) else -ZERO
    if x >= HIGH or is_zero(x) or x != x:
        return x
    sign = -1 if x < 0 else 1
    return sign * round_enclosed(
        once,
        lambda down, up: (
            down.div(down.mul(abs(x), down.add(x, HIGH)), 6),
            up.div(up.mul(abs(x), up.add(x, HIGH)), 6),
        ),
    )


def approximate(x: Array, out: Array) -> None:
    """X * min(max(x + 3, 0) / 6, 1) in the wider type."""
    factor = np.minimum(np.maximum(x + HIGH, 0) / 6, 1)
    np.multiply(x, factor, out=out)


OPERATOR = Operator(
    name="HardSwish",
    define=elementwise_definition(hard_swish),
    kernel=real_function(hard_swish, approximate, BOUND),
    bound=rectifiers.hard_swish,
)
