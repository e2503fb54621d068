"""Equal: C[i] = (A[i] = B[i]).

ONNX Equal-1 to Equal-19.  NaN equals nothing, not itself; both zeros are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, comparison, each
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Equal"
ALONG_AXIS = True
INPUTS = 2
outputs = comparison


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(equal, A, B, kind=np.dtype(np.bool_)),)


def equal(a: Any, b: Any, once: Any = None) -> Any:
    """A = b."""
    return a == b


# ------------------------------------------------------------------
# Equal, fast: numpy's operation is the definition.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.equal)
