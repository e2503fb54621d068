"""Reciprocal: Y[i] = 1 / X[i], rounded once.

ONNX Reciprocal-1 to Reciprocal-13; IEEE 754-2019, 5.4.1.  A zero gives the infinity of its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import Array
from sonnx.operators.div import div

OPERATOR = "Reciprocal"

INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(reciprocal, inputs[0]),)


def reciprocal(x: Any, once: Any) -> Any:
    """1 / x."""
    return once.div(1, x)


# ------------------------------------------------------------------
# Reciprocal, fast: one operation of the processor.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    divide = arithmetic(application, div, np.divide)

    def reciprocal(inputs: Sequence[Any], out: Array) -> Array:
        return divide([np.ones((), out.dtype), *inputs], out)

    return reciprocal
