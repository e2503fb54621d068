"""Abs: Y[i] = X[i] if X[i] >= 0, else -X[i].

SONNX Abs of 2026-08; ONNX Abs-1 to Abs-13.  The sign of a float is cleared, that of -0 and -Inf too; NaN gives the
quiet NaN.  The least integer has no absolute value in its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each, refuse
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Abs"
RAISES = ("Abs.absolute-value-representable",)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X.

    Raises:
        NoValue: Abs.absolute-value-representable.
    """
    X = inputs[0]
    require_absolute_values(X)
    return (each(absolute, X),)


def absolute(x: Any, once: Any = None) -> Any:
    """|x|."""
    return abs(x)


def require_absolute_values(X: Array) -> None:
    """No element of a signed integer type is the least one.

    Raises:
        NoValue: one is.
    """
    if X.dtype.kind == "i":
        refuse(RAISES[0], np.equal(X, np.iinfo(X.dtype).min), X, "X", "whose absolute value its type does not have")


# ------------------------------------------------------------------
# Abs, fast: numpy's operation, exact; NaN as every computed one.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    absolute = of_numpy(np.abs)

    def checked(inputs: Sequence[Any], out: Array) -> Array:
        require_absolute_values(inputs[0])
        return absolute(inputs, out)

    return checked
