"""Not: Y[i] = not X[i].

ONNX Not-1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import truths
from sonnx.semantics.formats import Array

OPERATOR = "Not"
INPUTS = 1
outputs = truths


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, bool, of the shape of X."""
    return (np.logical_not(inputs[0]),)
