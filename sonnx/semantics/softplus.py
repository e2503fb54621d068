"""Softplus: Y[i] = ln(e^X[i] + 1) over the reals, rounded once.

ONNX Softplus-1 to Softplus-22.  NaN gives NaN, -Inf +0, +Inf +Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each, floats_alike
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import ZERO, certain, is_infinite

OPERATOR = "Softplus"

INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(softplus, inputs[0]),)


def softplus(x: Any, once: Any) -> Any:
    """ln(e^x + 1)."""
    if is_infinite(x):
        return x if x > 0 else ZERO
    return certain(
        once,
        lambda down, up: (
            down.add(max(x, 0), down.log1p(down.exp(-abs(x)))),
            up.add(max(x, 0), up.log1p(up.exp(-abs(x)))),
        ),
    )
