"""Reciprocal: Y[i] = 1 / X[i], rounded once.

ONNX Reciprocal-1 to Reciprocal-13; IEEE 754-2019, 5.4.1.  A zero gives the infinity of its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.div import div
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats


def reciprocal(x: Any, once: Any) -> Any:
    """1 / x."""
    return once.div(1, x)


def kernel(application: Application) -> Kernel:
    """The processor's quotient of 1 and X."""
    divide = arithmetic(div, np.divide)(application)

    def reciprocals(inputs: Sequence[Any], out: Array) -> Array:
        return divide([np.ones((), out.dtype), *inputs], out)

    return reciprocals


OPERATOR = Operator(
    name="Reciprocal",
    define=elementwise_definition(reciprocal),
    kernel=kernel,
    signature=StatedSignature(inputs=(1, 1), output_specs=same_floats),
    bound=elementwise.reciprocal,
)
