"""Where, fast: Y copied, X over it where the condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def where(inputs: Sequence[Any], out: Array) -> Array:
        condition, X, Y = inputs
        np.copyto(out, Y)
        np.copyto(out, X, where=condition)
        return out

    return where
