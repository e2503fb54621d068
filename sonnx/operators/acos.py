"""Acos: Y[i] = the y in [0, pi] with cos y = X[i], rounded once.

SONNX Acos of 2026-10; ONNX Acos-7 to Acos-22.  NaN gives NaN, 1 gives +0; outside [-1, 1] the value is undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonnx.numerics.elementwise import elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import guarded, real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

WITHIN_ONE = "Acos.argument-within-one"


def acos(x: Any, once: Any) -> Any:
    """Arccos x."""
    return once.acos(x)


def require_arguments(X: Array) -> None:
    """Every element lies in [-1, 1] or is NaN.

    Raises:
        NoValue: one does not.
    """
    refuse(WITHIN_ONE, np.abs(X) > 1, X, "X", "outside [-1, 1]")


OPERATOR = Operator(
    name="Acos",
    define=elementwise_definition(acos, require=require_arguments),
    kernel=guarded(require_arguments, real_function(acos, np.arccos)),
    error_conditions=(WITHIN_ONE,),
    bound=elementwise.transfer(elementwise.ACOS),
)
