"""Concat: the elements of the inputs, one input after the other along the axis.

SONNX Concat of 2026-08; ONNX Concat-1 to Concat-13.  Elements are copied bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the inputs."""
    return (np.concatenate(X, application.names["axis"]),)


def kernel(application: Application) -> Kernel:
    """The concatenation of numpy, into the array that is given."""
    axis = application.names["axis"]

    def concat(inputs: Sequence[Any], out: Array) -> Array:
        np.concatenate(inputs, axis, out=out)
        return out

    return concat


OPERATOR = Operator(
    name="Concat", exact=True, define=define, kernel=kernel,
    bound=layout.moving(define, None, one_to_one=True),
)  # fmt: skip
