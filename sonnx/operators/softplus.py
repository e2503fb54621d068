"""Softplus: Y[i] = ln(e^X[i] + 1) over the reals, rounded once.

ONNX Softplus-1 to Softplus-22.  NaN gives NaN, -Inf +0, +Inf +Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import ZERO, certain, is_infinite
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Softplus"

INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(softplus, inputs[0]),)


def softplus(x: Any, once: Any) -> Any:
    """ln(e^x + 1)."""
    if is_infinite(x):
        return x if x > 0 else ZERO
    return certain(
        once,
        lambda down, up: (
            down.add(max(x, 0), down.log1p(down.exp(-abs(x)))),
            up.add(max(x, 0), up.log1p(up.exp(-abs(x)))),
        ),
    )


# ------------------------------------------------------------------
# Softplus, fast: max(x, 0) + ln(1 + e^-|x|) in the wider type; both addends are positive.


BOUND = Bound(2.0**-44)
"""The errors of both functions, and that of the sum."""


def approximate(x: Array, out: Array) -> None:
    """ln(1 + e^x)."""
    np.add(np.maximum(x, 0), np.log1p(np.exp(-np.abs(x))), out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, softplus, approximate, BOUND)
