"""Tanh: Y[i] = (1 - e^(-2 X[i])) / (1 + e^(-2 X[i])) over the reals, rounded once.

SONNX Tanh of 2026-08, section on floats, and the errata tanh-literal-formula and tanh-negative-zero; ONNX Tanh-1 to
Tanh-13.  NaN gives NaN, the infinities -1 and 1, a zero itself: the function is odd.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.operators.operator import Operator


def tanh(x: Any, once: Any) -> Any:
    """Tanh x."""
    return once.tanh(x)


OPERATOR = Operator(
    name="Tanh",
    define=elementwise_definition(tanh),
    kernel=real_function(tanh, np.tanh),
    bound=elementwise.transfer(elementwise.TANH),
)
