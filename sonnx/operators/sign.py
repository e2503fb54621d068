"""Sign: output[i] = 1 if input[i] > 0, -1 if input[i] < 0, else 0.

ONNX Sign-9 to Sign-13.  Both zeros give +0; NaN, which the text leaves out, gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each, numbers_alike
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Sign"
INPUTS = 1
outputs = numbers_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type and shape of input."""
    return (each(sign, inputs[0]),)


def sign(x: Any, once: Any = None) -> Any:
    """1, -1 or 0."""
    return x if x != x else (x > 0) - (x < 0)


# ------------------------------------------------------------------
# Sign, fast: numpy's operation, exact; NaN as every computed one.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(fast_sign)


def fast_sign(x: Array, out: Array) -> None:
    """Numpy's sign, with +0 for both zeros."""
    np.sign(x, out=out)
    np.copyto(out, 0, where=out == 0)
