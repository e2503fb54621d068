"""Sign: output[i] = 1 if input[i] > 0, -1 if input[i] < 0, else 0.

ONNX Sign-9 to Sign-13.  Both zeros give +0; NaN, which the text leaves out, gives NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import steps
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_numbers


def sign(x: Any, once: Any = None) -> Any:
    """1, -1 or 0; NaN for NaN."""
    return x if x != x else (x > 0) - (x < 0)


def numpy_sign(x: Array, out: Array) -> None:
    """The sign by numpy, with +0 for both zeros."""
    np.sign(x, out=out)
    np.copyto(out, 0, where=out == 0)


OPERATOR = Operator(
    name="Sign",
    define=elementwise_definition(sign),
    kernel=numpy_kernel(numpy_sign),
    signature=StatedSignature(inputs=(1, 1), output_specs=same_numbers),
    bound=steps.step(np.sign, unit=False),
)
