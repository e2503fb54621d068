"""Floor: Y[i] = the largest whole number that is not above X[i].

ONNX Floor-1 to Floor-13.  A whole number, a zero, an infinity and NaN stay; -0 is the zero below no number but itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.correctly_rounded import is_infinite, is_nan, is_zero
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import steps
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats


def floor(x: Any, once: Any) -> Any:
    """The largest whole number that is not above x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    return once.floor(x)


OPERATOR = Operator(
    name="Floor",
    define=elementwise_definition(floor),
    kernel=numpy_kernel(np.floor),
    signature=StatedSignature(inputs=(1, 1), output_specs=same_floats),
    bound=steps.step(np.floor),
)
