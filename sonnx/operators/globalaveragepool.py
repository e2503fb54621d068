"""GlobalAveragePool: Y[b, c, 0, ..] = the mean of all elements of X[b, c], rounded once.

ONNX GlobalAveragePool-1 and GlobalAveragePool-22.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array
from sonnx.numerics.reductions import fast_reduce_sum, reduce_sum

OPERATOR = "GlobalAveragePool"
INPUTS = 1


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the type of X."""
    shape, kind = inputs[0]
    return (((*shape[:2], *[1] * (len(shape) - 2)), kind),)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    return (reduce_sum(inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)


# ------------------------------------------------------------------
# GlobalAveragePool, fast: see `reduction.py`.


def fast(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    return (fast_reduce_sum(application, inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)
