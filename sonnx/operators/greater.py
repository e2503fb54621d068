"""Greater: C[i] = A[i] > B[i].

ONNX Greater-1 to Greater-13.  NaN is greater than nothing; both zeros are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics import broadcasting
from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, comparison, each
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Greater"
ALONG_AXIS = True
INPUTS = 2
ATTRIBUTES = broadcasting.ATTRIBUTES
outputs = comparison


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(greater, A, B, kind=np.dtype(np.bool_)),)


def greater(a: Any, b: Any, once: Any = None) -> Any:
    """A > b."""
    return a > b


# ------------------------------------------------------------------
# Greater, fast: numpy's operation is the definition.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.greater)
