"""Sigmoid: Y[i] = 1 / (1 + e^(-X[i])) over the reals, rounded once.

SONNX Sigmoid of 2026-08, section on floats, and the erratum sigmoid-rounding; ONNX Sigmoid-1 to Sigmoid-13.  NaN gives
NaN, -Inf +0, +Inf 1, both zeros 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import certain
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Sigmoid"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(sigmoid, inputs[0]),)


def sigmoid(x: Any, once: Any) -> Any:
    """1 / (1 + e^-x)."""
    return certain(
        once,
        lambda down, up: (
            down.div(1, up.add(1, up.exp(-x))),
            up.div(1, down.add(1, down.exp(-x))),
        ),
    )


# ------------------------------------------------------------------
# Sigmoid, fast: 1 / (1 + e^-x) in the wider type; both later roundings are relative to terms without cancellation.


BOUND = Bound(2.0**-45)
"""The error of the exponential and that of three roundings."""


def approximate(x: Array, out: Array) -> None:
    """1 / (1 + e^-x)."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(1, out, out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, sigmoid, approximate, BOUND)
