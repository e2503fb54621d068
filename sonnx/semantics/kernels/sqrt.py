"""Sqrt, fast: one operation of the processor."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic
from sonnx.semantics.sqrt import sqrt


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, sqrt, np.sqrt)
