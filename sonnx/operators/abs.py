"""Abs: Y[i] = X[i] if X[i] >= 0, else -X[i].

SONNX Abs of 2026-08; ONNX Abs-1 to Abs-13.  The sign of a float is cleared, that of -0 and -Inf too; NaN gives the
quiet NaN.  The least integer has no absolute value in its type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import guarded, numpy_kernel
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

REPRESENTABLE = "Abs.absolute-value-representable"


def absolute(x: Any, once: Any = None) -> Any:
    """|x|."""
    return abs(x)


def require_absolute_values(X: Array) -> None:
    """No element of a signed integer type is the least one.

    Raises:
        NoValue: one is.
    """
    if X.dtype.kind == "i":
        refuse(REPRESENTABLE, np.equal(X, np.iinfo(X.dtype).min), X, "X", "whose absolute value its type does not have")


OPERATOR = Operator(
    name="Abs",
    define=elementwise_definition(absolute, require=require_absolute_values),
    kernel=guarded(require_absolute_values, numpy_kernel(np.abs)),
    error_conditions=(REPRESENTABLE,),
    bound=elementwise.transfer(elementwise.ABS),
)
