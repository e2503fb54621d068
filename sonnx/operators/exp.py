"""Exp: Y[i] = e^X[i], rounded once.

SONNX Exp of 2026-08; ONNX Exp-1 to Exp-13.  NaN gives NaN, -Inf +0, +Inf +Inf, both zeros 1.  What exceeds the largest
finite number after rounding is +Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Exp"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(exp, inputs[0]),)


def exp(x: Any, once: Any) -> Any:
    """e^x."""
    return once.exp(x)


# ------------------------------------------------------------------
# Exp, fast: numpy's function of the wider type.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, exp, np.exp)
