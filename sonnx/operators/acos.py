"""Acos: Y[i] = the y in [0, pi] with cos y = X[i], rounded once.

SONNX Acos of 2026-10; ONNX Acos-7 to Acos-22.  NaN gives NaN, 1 gives +0; outside [-1, 1] there is no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import each, refuse
from sonnx.numerics.elementwise_kernels import Kernel, function
from sonnx.numerics.formats import Array

OPERATOR = "Acos"

RAISES = ("Acos.argument-within-one",)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X.

    Raises:
        NoValue: Acos.argument-within-one.
    """
    require_arguments(inputs[0])
    return (each(acos, inputs[0]),)


def acos(x: Any, once: Any) -> Any:
    """Arccos x."""
    return once.acos(x)


def require_arguments(X: Array) -> None:
    """Every element lies in [-1, 1] or is NaN.

    Raises:
        NoValue: Acos.argument-within-one.
    """
    refuse(RAISES[0], np.abs(X) > 1, X, "X", "outside [-1, 1]")


# ------------------------------------------------------------------
# Acos, fast: numpy's function of the wider type.


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    approximated = function(application, acos, np.arccos)

    def checked(inputs: Sequence[Any], out: Array) -> Array:
        require_arguments(inputs[0])
        return approximated(inputs, out)

    return checked
