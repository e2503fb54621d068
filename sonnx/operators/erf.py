"""Erf: Y[i] = the error function of X[i], 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to X[i], rounded once.

ONNX Erf-9 to Erf-13.  NaN gives NaN, the infinities -1 and 1, a zero itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf as math_erf
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.elementwise import elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import ELEMENTS, Array, format_of
from sonnx.operators.operator import Operator


def erf(x: Any, once: Any) -> Any:
    """Erf x."""
    return once.erf(x)


def approximate(x: Array, out: Array) -> None:
    """The C library's function in float64."""
    out[...] = np.fromiter(map(math_erf, x.tolist()), np.float64, x.size)


def kernel(application: Application) -> Kernel:
    """From float64; double goes to the definition, because the C library has no function of more digits."""
    approximated = real_function(erf, approximate)(application)

    def error_function(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"] or format_of(out.dtype) is None:
            np.copyto(out, define(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return error_function


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Y, of the shape and type of X.

    Raises:
        NotExecutable: X is of integers, whose function values are not.
    """
    if format_of(inputs[0].dtype) is None:
        raise NotExecutable(f"no text says how the error function of elements of type {inputs[0].dtype} is rounded")
    return elementwise_definition(erf)(application, inputs)


OPERATOR = Operator(name="Erf", define=define, kernel=kernel, bound=elementwise.transfer(elementwise.ERF))
