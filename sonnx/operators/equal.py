"""Equal: C[i] = (A[i] = B[i]).

ONNX Equal-1 to Equal-19.  NaN equals nothing, not itself; both zeros are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import TRUTH, elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator


def equal(a: Any, b: Any) -> Any:
    """A = b."""
    return a == b


OPERATOR = Operator(
    name="Equal",
    define=elementwise_definition(equal, result=TRUTH),
    kernel=numpy_kernel(np.equal),
    axis_broadcasting=True,
    bound=selection.comparison(selection.equal),
)
