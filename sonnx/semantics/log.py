"""Log: Y[i] = ln X[i], rounded once.

SONNX Log of 2026-08, section on floats; ONNX Log-1 to Log-13.  NaN and numbers below -0 give NaN, both zeros -Inf,
+Inf +Inf, 1 +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import Array

OPERATOR = "Log"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(log, inputs[0]),)


def log(x: Any, once: Any) -> Any:
    """Ln x."""
    return once.log(x)
