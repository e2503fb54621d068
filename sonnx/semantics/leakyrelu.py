"""LeakyRelu: Y[i] = X[i] if X[i] >= 0, alpha * X[i] if X[i] < 0, rounded once.

SONNX LeakyRelu of 2026-08; ONNX LeakyRelu-1 to LeakyRelu-16.  An element that is not below -0 stays bit for bit, -0,
+Inf and NaN too.  alpha is the real number that is stored (erratum leakyrelu-alpha-conversion); the product is that of
IEEE 754, NaN for alpha = 0 and X[i] = -Inf (erratum leakyrelu-nan).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import number

OPERATOR = "LeakyRelu"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X, alpha = inputs[0], number(application.names["alpha"])

    def product(x: Any, once: Any) -> Any:
        return once.mul(alpha, x)

    return (np.where(np.less(X, 0), each(product, X), X),)
