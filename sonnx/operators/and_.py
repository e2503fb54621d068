"""And: C[i] = A[i] and B[i].

ONNX And-1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, of_truths


def both(a: Any, b: Any) -> Any:
    """A and b."""
    return a and b


OPERATOR = Operator(
    name="And",
    define=elementwise_definition(both),
    kernel=numpy_kernel(np.logical_and),
    signature=StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=of_truths),
    axis_broadcasting=True,
    bound=selection.extremum(-1.0),
)
