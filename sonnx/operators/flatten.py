"""Flatten: Y[a, b] = X[i], a the row-major number of the indices before the axis, b that of the others.

SONNX Flatten of 2026-08; ONNX Flatten-1 to Flatten-25.  Elements and their order stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of rank 2."""
    X, split = inputs[0], application.names["split"]
    return (X.reshape(prod(X.shape[:split]), prod(X.shape[split:])),)


OPERATOR = Operator(
    name="Flatten",
    exact=True,
    define=define,
    kernel=copying_kernel(define),
    bound=layout.moving(define, one_to_one=True),
)
