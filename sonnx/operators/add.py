"""Add: C[i] = A[i] + B[i]; integers modulo 2^n, floats rounded once.

SONNX Add of 2026-08 and 2026-10; ONNX Add-1 to Add-14; IEEE 754-2019, 5.4.1 and 6.3: an exact zero is +0, but -0 where
both addends are -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, each
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import Array

OPERATOR = "Add"
ALONG_AXIS = True


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(add, A, B),)


def add(a: Any, b: Any, once: Any = None) -> Any:
    """A + b."""
    return a + b if once is None else once.add(a, b)


# ------------------------------------------------------------------
# Add, fast: one operation of the processor.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, add, np.add)
