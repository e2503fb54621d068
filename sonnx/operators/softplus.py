"""Softplus: Y[i] = ln(e^X[i] + 1) over the reals, rounded once.

ONNX Softplus-1 to Softplus-22.  NaN gives NaN, -Inf +0, +Inf +Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import ZERO, is_infinite, round_enclosed
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

BOUND = Bound(2.0**-44)
"""The errors of both functions, and that of the sum, whose addends are positive."""


def softplus(x: Any, once: Any) -> Any:
    """ln(e^x + 1)."""
    if is_infinite(x):
        return x if x > 0 else ZERO
    return round_enclosed(
        once,
        lambda down, up: (
            down.add(max(x, 0), down.log1p(down.exp(-abs(x)))),
            up.add(max(x, 0), up.log1p(up.exp(-abs(x)))),
        ),
    )


def approximate(x: Array, out: Array) -> None:
    """max(x, 0) + ln(1 + e^-|x|) in the wider type."""
    np.add(np.maximum(x, 0), np.log1p(np.exp(-np.abs(x))), out=out)


OPERATOR = Operator(
    name="Softplus",
    define=elementwise_definition(softplus),
    kernel=real_function(softplus, approximate, BOUND),
    bound=elementwise.transfer(elementwise.SOFTPLUS),
)
