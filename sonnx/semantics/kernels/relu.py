"""Relu, fast: the elements, not below 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.bounding import bounded
from sonnx.semantics.kernels.elementwise import Kernel


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def relu(inputs: Sequence[Any], out: Array) -> Array:
        bounded(inputs[0], np.zeros((), out.dtype), None, out)
        return out

    return relu
