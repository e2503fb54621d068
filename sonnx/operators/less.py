"""Less: C[i] = A[i] < B[i].

SONNX Less of 2026-08; ONNX Less-1 to Less-13.  NaN is less than nothing and nothing is less than NaN; both zeros are
equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, each
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Less"
ALONG_AXIS = True


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(less, A, B, kind=np.dtype(np.bool_)),)


def less(a: Any, b: Any, once: Any = None) -> Any:
    """A < b."""
    return a < b


# ------------------------------------------------------------------
# Less, fast: numpy's operation is the definition.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.less)
