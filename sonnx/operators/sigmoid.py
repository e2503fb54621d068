"""Sigmoid: Y[i] = 1 / (1 + e^(-X[i])) over the reals, rounded once.

SONNX Sigmoid of 2026-08, section on floats, and the erratum sigmoid-rounding; ONNX Sigmoid-1 to Sigmoid-13.  NaN gives
NaN, -Inf +0, +Inf 1, both zeros 1/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import round_enclosed
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

BOUND = Bound(2.0**-45)
"""The error of the exponential and of three roundings; the last two are relative to terms without cancellation."""


def sigmoid(x: Any, once: Any) -> Any:
    """1 / (1 + e^-x)."""
    return round_enclosed(
        once,
        lambda down, up: (
            down.div(1, up.add(1, up.exp(-x))),
            up.div(1, down.add(1, down.exp(-x))),
        ),
    )


def approximate(x: Array, out: Array) -> None:
    """1 / (1 + e^-x) in the wider type."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(1, out, out=out)


OPERATOR = Operator(
    name="Sigmoid",
    define=elementwise_definition(sigmoid),
    kernel=real_function(sigmoid, approximate, BOUND),
    bound=elementwise.transfer(elementwise.SIGMOID),
)
