"""Mul: C[i] = A[i] * B[i]; integers modulo 2^n, floats rounded once.

SONNX Mul of 2026-08 and 2026-10; ONNX Mul-1 to Mul-14; IEEE 754-2019, 5.4.1: the signs of both factors decide that of
a zero or an infinity, zero times infinity is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import products
from sonnx.operators.operator import Operator


def mul(a: Any, b: Any, once: Any = None) -> Any:
    """A * b."""
    return a * b if once is None else once.mul(a, b)


OPERATOR = Operator(
    name="Mul",
    define=elementwise_definition(mul),
    kernel=arithmetic(mul, np.multiply),
    axis_broadcasting=True,
    bound=products.multiply,
)
