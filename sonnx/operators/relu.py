"""Relu: Y[i] = 0 if X[i] < 0, else X[i].

SONNX Relu of 2026-08; ONNX Relu-1 to Relu-14.  A negative element gives +0; -0 and NaN stay, bit for bit (erratum
relu-sign-of-zero).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise_kernels import clip_into
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X = inputs[0]
    return (np.where(X < 0, np.zeros((), X.dtype), X),)


def relu_into(inputs: Sequence[Any], out: Array) -> Array:
    """X, not below 0."""
    clip_into(inputs[0], np.zeros((), out.dtype), None, out)
    return out


OPERATOR = Operator(name="Relu", define=define, kernel=lambda application: relu_into, bound=rectifiers.relu)
