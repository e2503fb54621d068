"""HardSigmoid: Y[i] = max(0, min(1, alpha * X[i] + beta)) over the reals, rounded once.

ONNX HardSigmoid-1 to HardSigmoid-22.  alpha and beta are the real numbers that are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import ONE, ZERO, is_nan, round_enclosed, to_mpfr
from sonnx.numerics.elementwise import ElementFunction, each
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats

ALPHA, BETA = float(np.float32(0.2)), 0.5
"""What the absence of the attributes means; they are of type float."""

BOUND = Bound(2.0**-52)


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(hard_sigmoid(*parameters(application)), inputs[0]),)


def parameters(application: Application) -> tuple[float, float]:
    """Alpha and beta."""
    return application.attribute("alpha", ALPHA), application.attribute("beta", BETA)


def hard_sigmoid(alpha: float, beta: float) -> ElementFunction:
    """The function of one element."""
    a, b = to_mpfr(alpha), to_mpfr(beta)

    def of_element(x: Any, once: Any) -> Any:
        line = round_enclosed(once, lambda down, up: (down.fma(a, x, b), up.fma(a, x, b)))
        return line if is_nan(line) else ZERO if line <= 0 else min(line, ONE)

    return of_element


def kernel(application: Application) -> Kernel:
    """Alpha * x + beta in the wider type: the product is exact there, the sum rounded once.

    The product of two doubles is exact in no wider type, so double goes to the definition.
    """
    alpha, beta = parameters(application)

    def approximate(x: Array, out: Any) -> None:
        np.multiply(x, alpha, out=out)
        np.add(out, beta, out=out)
        np.maximum(out, 0, out=out)
        np.minimum(out, 1, out=out)

    exact = hard_sigmoid(alpha, beta)
    approximated = real_function(exact, approximate, BOUND)(application)

    def hard_sigmoids(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"]:
            np.copyto(out, each(exact, inputs[0]))
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return hard_sigmoids


OPERATOR = Operator(
    name="HardSigmoid",
    define=define,
    kernel=kernel,
    signature=StatedSignature(inputs=(1, 1), attributes={"alpha": "float", "beta": "float"}, output_specs=same_floats),
    bound=rectifiers.hard_sigmoid,
)
