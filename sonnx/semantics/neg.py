"""Neg: Y[i] = -X[i].

SONNX Neg of 2026-10; ONNX Neg-1 to Neg-13.  Integers modulo 2^n: the least one stays.  The sign of a float is changed,
that of a zero and an infinity too; NaN gives the quiet NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import Array

OPERATOR = "Neg"


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(negative, inputs[0]),)


def negative(x: Any, once: Any = None) -> Any:
    """-x."""
    return -x
