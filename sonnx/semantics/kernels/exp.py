"""Exp, fast: numpy's function of the wider type."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.exp import exp
from sonnx.semantics.kernels.elementwise import Kernel, function


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, exp, np.exp)
