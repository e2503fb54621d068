"""Reciprocal, fast: one operation of the processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.div import div
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    divide = arithmetic(application, div, np.divide)

    def reciprocal(inputs: Sequence[Any], out: Array) -> Array:
        return divide([np.ones((), out.dtype), *inputs], out)

    return reciprocal
