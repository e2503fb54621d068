"""Reshape: Y has the elements of X in their row-major order, in the shape that is asked for.

SONNX Reshape of 2026-08; ONNX Reshape-1 to Reshape-25.  An extent of 0 is copied from X (unless allowzero = 1), one of
-1 is what the number of elements leaves; the data file's `kept` and `rest` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    X, kept, rest = inputs[0], application.names["kept"], application.names["rest"]
    return (X.reshape([prod(X.shape) // rest if extent == -1 else extent for extent in kept]),)


OPERATOR = Operator(
    name="Reshape",
    exact=True,
    define=define,
    kernel=copying_kernel(define),
    bound=layout.moving(define, one_to_one=True),
)
