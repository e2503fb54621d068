"""Tanh: Y[i] = (1 - e^(-2 X[i])) / (1 + e^(-2 X[i])) over the reals, rounded once.

SONNX Tanh of 2026-08, section on floats, and the errata tanh-literal-formula and tanh-negative-zero; ONNX Tanh-1 to
Tanh-13.  NaN gives NaN, the infinities -1 and 1, a zero itself: the function is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Tanh"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(tanh, inputs[0]),)


def tanh(x: Any, once: Any) -> Any:
    """Tanh x."""
    return once.tanh(x)


# ------------------------------------------------------------------
# Tanh, fast: numpy's function of the wider type.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, tanh, np.tanh)
