"""Erf: Y[i] = the error function of X[i], 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to X[i], rounded once.

ONNX Erf-9 to Erf-13.  NaN gives NaN, the infinities -1 and 1, a zero itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each, floats_alike
from sonnx.semantics.formats import Array

OPERATOR = "Erf"

INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(erf, inputs[0]),)


def erf(x: Any, once: Any) -> Any:
    """Erf x."""
    return once.erf(x)
