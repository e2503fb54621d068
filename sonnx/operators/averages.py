"""ReduceSum, ReduceMean and GlobalAveragePool: sums and means of elements, rounded once.

ReduceSum           reduced[k] = the sum of data[i] over all i that agree with k outside the axes.  ONNX ReduceSum-1 to
                    ReduceSum-18; the axes are an attribute, from operator set 13 on an input.
ReduceMean          the mean.  ONNX ReduceMean-1 to ReduceMean-18; the axes are an input from operator set 18 on.
GlobalAveragePool   Y[b, c, 0, ..] = the mean of all elements of X[b, c].  ONNX GlobalAveragePool-1 and
                    GlobalAveragePool-22.

Without axes all axes are reduced, or none where noop_with_empty_axes is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import averages
from sonnx.numerics.formats import Array
from sonnx.numerics.reductions import axis_reduction, fast_reduce_sum, reduce_sum
from sonnx.operators.operator import Operator


def global_average(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    return (reduce_sum(inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)


def fast_global_average(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The means, by `fast_reduce_sum`."""
    return (fast_reduce_sum(application, inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)


def _along_axes(name: str, since: int, *, mean: bool) -> Operator:
    define, fast_path = axis_reduction(since=since, mean=mean)
    return Operator(
        name=name,
        continuous=True,
        may_overflow_inside=True,
        axis_parameter="axes",
        define=define,
        fast_path=fast_path,
        bound=averages.reduce_mean_or_sum(mean=mean),
    )


OPERATORS = (
    _along_axes("ReduceSum", since=13, mean=False),
    _along_axes("ReduceMean", since=18, mean=True),
    Operator(
        name="GlobalAveragePool",
        continuous=True,
        may_overflow_inside=True,
        define=global_average,
        fast_path=fast_global_average,
        bound=averages.global_average_pool,
    ),
)
