"""Concat: the elements of the inputs, one input after the other along the axis.

SONNX Concat of 2026-08; ONNX Concat-1 to Concat-13.  Elements are copied bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise_kernels import Kernel
from sonnx.numerics.formats import Array

OPERATOR = "Concat"


def evaluate(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the inputs."""
    return (np.concatenate(X, application.names["axis"]),)


# ------------------------------------------------------------------
# Concat, fast: numpy's own, into the array that is there.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    axis = application.names["axis"]

    def concat(inputs: Sequence[Any], out: Array) -> Array:
        np.concatenate(inputs, axis, out=out)
        return out

    return concat
