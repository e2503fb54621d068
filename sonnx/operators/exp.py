"""Exp: Y[i] = e^X[i], rounded once.

SONNX Exp of 2026-08; ONNX Exp-1 to Exp-13.  NaN gives NaN, -Inf +0, +Inf +Inf, both zeros 1.  What exceeds the largest
finite number after rounding is +Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.operators.operator import Operator


def exp(x: Any, once: Any) -> Any:
    """e^x."""
    return once.exp(x)


OPERATOR = Operator(
    name="Exp",
    define=elementwise_definition(exp),
    kernel=real_function(exp, np.exp),
    bound=elementwise.transfer(elementwise.EXP),
)
