"""GlobalAveragePool: Y[b, c, 0, ..] = the mean of all elements of X[b, c], rounded once.

ONNX GlobalAveragePool-1 and GlobalAveragePool-22.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import averages
from sonnx.numerics.formats import Array
from sonnx.numerics.reductions import fast_reduce_sum, reduce_sum
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    return (reduce_sum(inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)


def fast_path(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The means, by `fast_reduce_sum`."""
    return (fast_reduce_sum(application, inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)


OPERATOR = Operator(name="GlobalAveragePool", define=define, fast_path=fast_path, bound=averages.global_average_pool)
