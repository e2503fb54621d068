"""Log: Y[i] = ln X[i], rounded once.

SONNX Log of 2026-08, section on floats; ONNX Log-1 to Log-13.  NaN and numbers below -0 give NaN, both zeros -Inf,
+Inf +Inf, 1 +0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.operators.operator import Operator


def log(x: Any, once: Any) -> Any:
    """Ln x."""
    return once.log(x)


OPERATOR = Operator(
    name="Log",
    define=elementwise_definition(log),
    kernel=real_function(log, np.log),
    bound=elementwise.transfer(elementwise.LOG),
)
