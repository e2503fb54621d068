"""Floor: Y[i] = the largest whole number that is not above X[i].

ONNX Floor-1 to Floor-13.  A whole number, a zero, an infinity and NaN stay; -0 is the zero below no number but itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.correctly_rounded import is_infinite, is_nan, is_zero
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Floor"
INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(floor, inputs[0]),)


def floor(x: Any, once: Any) -> Any:
    """The largest whole number that is not above x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    return once.floor(x)


# ------------------------------------------------------------------
# Floor, fast: numpy's operation, exact; NaN as every computed one.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.floor)
