"""GRU, fast: the steps of `cells.py`."""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.semantics import gru
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.cells import steps


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """As the definition."""
    X = inputs[0]
    assert X is not None  # noqa: S101  the count of inputs is checked before
    return gru.gru(application, inputs, steps(application, X.dtype))
