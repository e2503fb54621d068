"""Sigmoid: Y[i] = 1 / (1 + e^(-X[i])) over the reals, rounded once.

SONNX Sigmoid of 2026-08, section on floats, and the erratum sigmoid-rounding; ONNX Sigmoid-1 to Sigmoid-13.  NaN gives
NaN, -Inf +0, +Inf 1, both zeros 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import certain

OPERATOR = "Sigmoid"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(sigmoid, inputs[0]),)


def sigmoid(x: Any, once: Any) -> Any:
    """1 / (1 + e^-x)."""
    return certain(
        once,
        lambda down, up: (
            down.div(1, up.add(1, up.exp(-x))),
            up.div(1, down.add(1, down.exp(-x))),
        ),
    )
