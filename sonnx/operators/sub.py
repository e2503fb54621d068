"""Sub: C[i] = A[i] - B[i]; integers modulo 2^n, floats rounded once.

SONNX Sub of 2026-08 and 2026-10; ONNX Sub-1 to Sub-14; IEEE 754-2019, 5.4.1 and 6.3: an exact zero is +0, but
-0 - +0 is -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, each
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import Array

OPERATOR = "Sub"
ALONG_AXIS = True


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(sub, A, B),)


def sub(a: Any, b: Any, once: Any = None) -> Any:
    """A - b."""
    return a - b if once is None else once.sub(a, b)


# ------------------------------------------------------------------
# Sub, fast: one operation of the processor.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, sub, np.subtract)
