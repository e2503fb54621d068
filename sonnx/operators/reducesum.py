"""ReduceSum: reduced[k] = the sum of data[i] over all i that agree with k outside the axes, rounded once.

ONNX ReduceSum-1 to ReduceSum-18.  The axes are an attribute, from operator set 13 on an input; without them all
axes are reduced, or none where noop_with_empty_axes is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array
from sonnx.numerics.reductions import fast_reduce_sum, gone_axes, reduce_sum, without

OPERATOR = "ReduceSum"

SINCE = 13
"""The version from which the axes are an input, and an empty list of them has a meaning."""

MEAN = False


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The result, of the type of data and of its shape with each axis reduced to 1 or removed."""
    gone = gone_axes(application, SINCE)
    if not gone:
        return (inputs[0],)
    return (without(application, reduce_sum(inputs[0], gone, mean=MEAN), gone),)


# ------------------------------------------------------------------
# ReduceSum, fast: see `reduction.py`.


def fast(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    gone = gone_axes(application, SINCE)
    if not gone:
        return (inputs[0],)
    return (without(application, fast_reduce_sum(application, inputs[0], gone, mean=MEAN), gone),)
