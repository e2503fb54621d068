"""And: C[i] = A[i] and B[i].

ONNX And-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics import broadcasting
from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, each, truths
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "And"
ALONG_AXIS = True
INPUTS = 2
ATTRIBUTES = broadcasting.ATTRIBUTES
outputs = truths


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(both, A, B),)


def both(a: Any, b: Any, once: Any = None) -> Any:
    """A and b."""
    return a and b


# ------------------------------------------------------------------
# And, fast: numpy's operation is the definition.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.logical_and)
