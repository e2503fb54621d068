"""Or: C[i] = A[i] or B[i].

ONNX Or-1.
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


def either(a: Any, b: Any) -> Any:
    """A or b."""
    return a or b


OPERATOR = Operator(
    name="Or",
    define=elementwise_definition(either),
    kernel=numpy_kernel(np.logical_or),
    signature=StatedSignature(inputs=(2, 2), attributes=AXIS_ATTRIBUTES, output_specs=of_truths),
    axis_broadcasting=True,
    bound=selection.extremum(1.0),
)
