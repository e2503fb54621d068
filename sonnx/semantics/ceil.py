"""Ceil: Y[i] = the smallest whole number that is not below X[i].

ONNX Ceil-1 to Ceil-13.  A whole number, a zero, an infinity and NaN stay; numbers between -1 and 0 give -0, as IEEE
754-2019, 5.9, has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each, floats_alike
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import ZERO, is_infinite, is_nan, is_zero

OPERATOR = "Ceil"
INPUTS = 1
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(ceil, inputs[0]),)


def ceil(x: Any, once: Any) -> Any:
    """The smallest whole number that is not below x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    up = once.ceil(x)
    return -ZERO if up == 0 and x < 0 else up
