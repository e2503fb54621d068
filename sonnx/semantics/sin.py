"""Sin: B[i] = sin A[i], rounded once; A in radians.

SONNX Sin of 2026-10; ONNX Sin-7 to Sin-22.  NaN and the infinities give NaN, a zero itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import Array

OPERATOR = "Sin"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(sin, inputs[0]),)


def sin(x: Any, once: Any) -> Any:
    """Sin x."""
    return once.sin(x)
