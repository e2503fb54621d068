"""Add: C[i] = A[i] + B[i]; integers modulo 2^n, floats rounded once.

SONNX Add of 2026-08 and 2026-10; ONNX Add-1 to Add-14; IEEE 754-2019, 5.4.1 and 6.3: an exact zero is +0, but -0 where
both addends are -0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import sums
from sonnx.operators.operator import Operator


def add(a: Any, b: Any, once: Any = None) -> Any:
    """A + b."""
    return a + b if once is None else once.add(a, b)


OPERATOR = Operator(
    name="Add",
    define=elementwise_definition(add),
    kernel=arithmetic(add, np.add),
    axis_broadcasting=True,
    bound=sums.add,
)
