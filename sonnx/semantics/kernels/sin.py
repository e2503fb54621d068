"""Sin, fast: numpy's function of the wider type."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.kernels.elementwise import Kernel, function
from sonnx.semantics.sin import sin


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, sin, np.sin)
