"""Not: Y[i] = not X[i].

ONNX Not-1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import truths
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Not"
INPUTS = 1
outputs = truths


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, bool, of the shape of X."""
    return (np.logical_not(inputs[0]),)


# ------------------------------------------------------------------
# Not, fast: numpy's operation is the definition.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.logical_not)
