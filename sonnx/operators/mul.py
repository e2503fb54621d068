"""Mul: C[i] = A[i] * B[i]; integers modulo 2^n, floats rounded once.

SONNX Mul of 2026-08 and 2026-10; ONNX Mul-1 to Mul-14; IEEE 754-2019, 5.4.1: the signs of both factors decide that of
a zero or an infinity, zero times infinity is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import broadcast, each
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import Array

OPERATOR = "Mul"
ALONG_AXIS = True


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(mul, A, B),)


def mul(a: Any, b: Any, once: Any = None) -> Any:
    """A * b."""
    return a * b if once is None else once.mul(a, b)


# ------------------------------------------------------------------
# Mul, fast: one operation of the processor.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return arithmetic(application, mul, np.multiply)
