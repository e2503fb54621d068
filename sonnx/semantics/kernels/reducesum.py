"""ReduceSum, fast: see `reduction.py`."""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.reduction import reduce_sum
from sonnx.semantics.reducesum import MEAN, SINCE
from sonnx.semantics.reduction import gone_axes, without


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    gone = gone_axes(application, SINCE)
    if not gone:
        return (inputs[0],)
    return (without(application, reduce_sum(application, inputs[0], gone, mean=MEAN), gone),)
