"""Greater: C[i] = A[i] > B[i].

ONNX Greater-1 to Greater-13.  NaN is greater than nothing; both zeros are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.numerics.elementwise import TRUTH, elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, comparison


def greater(a: Any, b: Any) -> Any:
    """A > b."""
    return a > b


OPERATOR = Operator(
    name="Greater",
    define=elementwise_definition(greater, result=TRUTH),
    kernel=numpy_kernel(np.greater),
    signature=StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=comparison),
    axis_broadcasting=True,
    bound=selection.comparison(selection.greater),
)
