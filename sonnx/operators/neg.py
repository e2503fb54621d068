"""Neg: Y[i] = -X[i].

SONNX Neg of 2026-10; ONNX Neg-1 to Neg-13.  Integers modulo 2^n: the least one stays.  The sign of a float is changed,
that of a zero and an infinity too; NaN gives the quiet NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import elementwise
from sonnx.operators.operator import Operator


def negative(x: Any, once: Any = None) -> Any:
    """-x."""
    return -x


OPERATOR = Operator(
    name="Neg",
    define=elementwise_definition(negative),
    kernel=numpy_kernel(np.negative),
    bound=elementwise.transfer(elementwise.NEG),
)
