"""Less: C[i] = A[i] < B[i].

SONNX Less of 2026-08; ONNX Less-1 to Less-13.  NaN is less than nothing and nothing is less than NaN; both zeros are
equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import TRUTH, elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator


def less(a: Any, b: Any) -> Any:
    """A < b."""
    return a < b


OPERATOR = Operator(
    name="Less",
    define=elementwise_definition(less, result=TRUTH),
    kernel=numpy_kernel(np.less),
    axis_broadcasting=True,
    bound=selection.comparison(selection.less),
)
