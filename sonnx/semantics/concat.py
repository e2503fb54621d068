"""Concat: the elements of the inputs, one input after the other along the axis.

SONNX Concat of 2026-08; ONNX Concat-1 to Concat-13.  Elements are copied bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array

OPERATOR = "Concat"


def evaluate(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the inputs."""
    return (np.concatenate(X, application.names["axis"]),)
