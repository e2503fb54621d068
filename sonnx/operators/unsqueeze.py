"""Unsqueeze: Y[j] = X[i], j = i with a 0 at each of the axes.

SONNX Unsqueeze of 2026-08; ONNX Unsqueeze-1 to Unsqueeze-25.  The data file's `named` are the axes of Y from the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    return (np.expand_dims(inputs[0], tuple(application.names["named"])),)


OPERATOR = Operator(
    name="Unsqueeze",
    exact=True,
    define=define,
    kernel=copying_kernel(define),
    bound=layout.moving(define, one_to_one=True),
)
