"""HardSigmoid, fast: alpha * x + beta in the wider type; the product is exact there, the sum rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import ELEMENTS, Array
from sonnx.semantics.hardsigmoid import element, parameters
from sonnx.semantics.kernels.elementwise import Kernel, function
from sonnx.semantics.kernels.settling import Bound

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
