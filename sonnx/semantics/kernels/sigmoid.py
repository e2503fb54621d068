"""Sigmoid, fast: 1 / (1 + e^-x) in the wider type; both later roundings are relative to terms without cancellation."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, function
from sonnx.semantics.kernels.settling import Bound
from sonnx.semantics.sigmoid import sigmoid

BOUND = Bound(2.0**-45)
"""The error of the exponential and that of three roundings."""


def approximate(x: Array, out: Array) -> None:
    """1 / (1 + e^-x)."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(1, out, out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, sigmoid, approximate, BOUND)
