"""Clip, fast: the elements between the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.clip import bounds, crossed
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.bounding import bounded
from sonnx.semantics.kernels.elementwise import Kernel


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def clip(inputs: Sequence[Any], out: Array) -> Array:
        L, M = bounds(application, inputs)
        if crossed(application, L, M) and M is not None:
            np.copyto(out, M)
        else:
            bounded(inputs[0], L, M, out)
        return out

    return clip
