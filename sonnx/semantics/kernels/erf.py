"""Erf, fast: the C library's function in float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf as of_one
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.erf import erf
from sonnx.semantics.formats import ELEMENTS, Array
from sonnx.semantics.kernels.elementwise import Kernel, function


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
