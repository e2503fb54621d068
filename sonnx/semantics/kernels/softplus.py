"""Softplus, fast: max(x, 0) + ln(1 + e^-|x|) in the wider type; both addends are positive."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, function
from sonnx.semantics.kernels.settling import Bound
from sonnx.semantics.softplus import softplus

BOUND = Bound(2.0**-44)
"""The errors of both functions, and that of the sum."""


def approximate(x: Array, out: Array) -> None:
    """ln(1 + e^x)."""
    np.add(np.maximum(x, 0), np.log1p(np.exp(-np.abs(x))), out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, softplus, approximate, BOUND)
