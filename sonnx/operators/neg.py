"""Neg: Y[i] = -X[i].

SONNX Neg of 2026-10; ONNX Neg-1 to Neg-13.  Integers modulo 2^n: the least one stays.  The sign of a float is changed,
that of a zero and an infinity too; NaN gives the quiet NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import Kernel, of_numpy
from sonnx.numerics.formats import Array

OPERATOR = "Neg"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(negative, inputs[0]),)


def negative(x: Any, once: Any = None) -> Any:
    """-x."""
    return -x


# ------------------------------------------------------------------
# Neg, fast: numpy's operation, exact; NaN as every computed one.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(np.negative)
