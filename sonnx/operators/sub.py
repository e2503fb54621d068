"""Sub: C[i] = A[i] - B[i]; integers modulo 2^n, floats rounded once.

SONNX Sub of 2026-08 and 2026-10; ONNX Sub-1 to Sub-14; IEEE 754-2019, 5.4.1 and 6.3: an exact zero is +0, but
-0 - +0 is -0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import sums
from sonnx.operators.operator import Operator


def sub(a: Any, b: Any, once: Any = None) -> Any:
    """A - b."""
    return a - b if once is None else once.sub(a, b)


OPERATOR = Operator(
    name="Sub",
    define=elementwise_definition(sub),
    kernel=arithmetic(sub, np.subtract),
    axis_broadcasting=True,
    bound=sums.subtract,
)
