"""Ceil: Y[i] = the smallest whole number that is not below X[i].

ONNX Ceil-1 to Ceil-13.  A whole number, a zero, an infinity and NaN stay; numbers between -1 and 0 give -0, as IEEE
754-2019, 5.9, has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.correctly_rounded import ZERO, is_infinite, is_nan, is_zero
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Ceil"
INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(ceil, inputs[0]),)


def ceil(x: Any, once: Any) -> Any:
    """The smallest whole number that is not below x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    up = once.ceil(x)
    return -ZERO if up == 0 and x < 0 else up


# ------------------------------------------------------------------
# Ceil, fast: numpy's operation, exact; NaN as every computed one.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.ceil)
