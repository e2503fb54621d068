"""Log: Y[i] = ln X[i], rounded once.

SONNX Log of 2026-08, section on floats; ONNX Log-1 to Log-13.  NaN and numbers below -0 give NaN, both zeros -Inf,
+Inf +Inf, 1 +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Log"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(log, inputs[0]),)


def log(x: Any, once: Any) -> Any:
    """Ln x."""
    return once.log(x)


# ------------------------------------------------------------------
# Log, fast: numpy's function of the wider type.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, log, np.log)
