"""Ceil: Y[i] = the smallest whole number that is not below X[i].

ONNX Ceil-1 to Ceil-13.  A whole number, a zero, an infinity and NaN stay; numbers between -1 and 0 give -0, as IEEE
754-2019, 5.9, has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.correctly_rounded import ZERO, is_infinite, is_nan, is_zero
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import steps
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats


def ceil(x: Any, once: Any) -> Any:
    """The smallest whole number that is not below x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    up = once.ceil(x)
    return -ZERO if up == 0 and x < 0 else up


OPERATOR = Operator(
    name="Ceil",
    define=elementwise_definition(ceil),
    kernel=numpy_kernel(np.ceil),
    signature=StatedSignature(inputs=(1, 1), output_specs=same_floats),
    bound=steps.step(np.ceil),
)
