"""Concat, fast: numpy's own, into the array that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    axis = application.names["axis"]

    def concat(inputs: Sequence[Any], out: Array) -> Array:
        np.concatenate(inputs, axis, out=out)
        return out

    return concat
