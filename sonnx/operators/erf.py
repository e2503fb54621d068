"""Erf: Y[i] = the error function of X[i], 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to X[i], rounded once.

ONNX Erf-9 to Erf-13.  NaN gives NaN, the infinities -1 and 1, a zero itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf as of_one
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import ELEMENTS, Array

OPERATOR = "Erf"

INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(erf, inputs[0]),)


def erf(x: Any, once: Any) -> Any:
    """Erf x."""
    return once.erf(x)


# ------------------------------------------------------------------
# Erf, fast: the C library's function in float64.


def approximate(x: Array, out: Array) -> None:
    """The error function of every element."""
    out[...] = np.fromiter(map(of_one, x.tolist()), np.float64, x.size)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    approximated = function(application, erf, approximate)

    def error_function(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"]:  # the C library has no more digits
            np.copyto(out, each(erf, inputs[0]))
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return error_function
