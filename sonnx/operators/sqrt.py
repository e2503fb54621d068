"""Sqrt: Y[i] = the square root of X[i], rounded once.

SONNX Sqrt of 2026-08, section on floats; ONNX Sqrt-1 to Sqrt-13; IEEE 754-2019, 5.4.1.  NaN and numbers below -0 give
NaN, -0 gives -0, +Inf +Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import elementwise
from sonnx.operators.operator import Operator


def sqrt(x: Any, once: Any) -> Any:
    """The square root of x."""
    return once.sqrt(x)


OPERATOR = Operator(
    name="Sqrt",
    define=elementwise_definition(sqrt),
    kernel=arithmetic(sqrt, np.sqrt),
    bound=elementwise.transfer(elementwise.SQRT),
)
