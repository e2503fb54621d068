"""Sqrt: Y[i] = the square root of X[i], rounded once.

SONNX Sqrt of 2026-08, section on floats; ONNX Sqrt-1 to Sqrt-13; IEEE 754-2019, 5.4.1.  NaN and numbers below -0 give
NaN, -0 gives -0, +Inf +Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import Array

OPERATOR = "Sqrt"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(sqrt, inputs[0]),)


def sqrt(x: Any, once: Any) -> Any:
    """The square root of x."""
    return once.sqrt(x)


# ------------------------------------------------------------------
# Sqrt, fast: one operation of the processor.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, sqrt, np.sqrt)
