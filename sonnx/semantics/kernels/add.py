"""Add, fast: one operation of the processor."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.add import add
from sonnx.semantics.application import Application
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, add, np.add)
