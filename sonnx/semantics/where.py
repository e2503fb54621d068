"""Where: Z[i] = X[i] if condition[i], else Y[i].

SONNX Where of 2026-08; ONNX Where-9 to Where-16.  The chosen element is copied bit for bit (erratum where-copies-bits).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast
from sonnx.semantics.formats import Array

OPERATOR = "Where"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Z, of the broadcast shape and the type of X."""
    return (np.where(*broadcast(OPERATOR, *inputs)),)
