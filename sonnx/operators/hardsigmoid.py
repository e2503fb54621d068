"""HardSigmoid: Y[i] = max(0, min(1, alpha * X[i] + beta)) over the reals, rounded once.

ONNX HardSigmoid-1 to HardSigmoid-22.  alpha and beta are the real numbers that are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import ONE, ZERO, certain, is_nan, number
from sonnx.numerics.elementwise import Element, each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import ELEMENTS, Array

OPERATOR = "HardSigmoid"
INPUTS = 1
ATTRIBUTES = {"alpha": "float", "beta": "float"}
outputs = floats_alike

ALPHA, BETA = float(np.float32(0.2)), 0.5
"""What the absence of the attributes means; they are of type float."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(element(*parameters(application)), inputs[0]),)


def parameters(application: Application) -> tuple[float, float]:
    """Alpha and beta."""
    return application.attribute("alpha", ALPHA), application.attribute("beta", BETA)


def element(alpha: float, beta: float) -> Element:
    """The function of one element."""
    a, b = number(alpha), number(beta)

    def hard_sigmoid(x: Any, once: Any) -> Any:
        line = certain(once, lambda down, up: (down.fma(a, x, b), up.fma(a, x, b)))
        return line if is_nan(line) else ZERO if line <= 0 else min(line, ONE)

    return hard_sigmoid


# ------------------------------------------------------------------
# HardSigmoid, fast: alpha * x + beta in the wider type; the product is exact there, the sum rounded once.


BOUND = Bound(2.0**-52)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    alpha, beta = parameters(application)

    def approximate(x: Array, out: Any) -> None:
        np.multiply(x, alpha, out=out)
        np.add(out, beta, out=out)
        np.maximum(out, 0, out=out)
        np.minimum(out, 1, out=out)

    exact = element(alpha, beta)
    approximated = function(application, exact, approximate, BOUND)

    def hard_sigmoid(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"]:  # the product is not exact in any wider type
            np.copyto(out, each(exact, inputs[0]))
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return hard_sigmoid
