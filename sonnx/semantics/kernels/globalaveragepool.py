"""GlobalAveragePool, fast: see `reduction.py`."""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.reduction import reduce_sum


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """As the definition."""
    return (reduce_sum(application, inputs[0], tuple(range(2, inputs[0].ndim)), mean=True),)
