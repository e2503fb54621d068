"""Exp, Log, Sqrt, Tanh and Acos: Y[i] = f(X[i]) over the reals, rounded once; NaN gives NaN.

Exp     e^X[i]; -Inf gives +0, +Inf +Inf, both zeros 1.  What exceeds the largest finite number after rounding is +Inf.
Log     ln X[i]; numbers below -0 give NaN, both zeros -Inf, +Inf +Inf, 1 +0.
Sqrt    the square root of X[i]; numbers below -0 give NaN, -0 gives -0, +Inf +Inf (IEEE 754-2019, 5.4.1).
Tanh    (1 - e^(-2 X[i])) / (1 + e^(-2 X[i])); the infinities give -1 and 1, a zero itself: the function is odd.
Acos    the y in [0, pi] with cos y = X[i]; 1 gives +0; outside [-1, 1] the value is undefined.

SONNX of 2026-08, sections on floats, with the errata tanh-literal-formula and tanh-negative-zero, and Acos of 2026-10;
ONNX versions 1 to 13, Acos-7 to Acos-22.
"""

from __future__ import annotations

import numpy as np

from sonnx.numerics.elementwise import ElementFunction, elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import arithmetic, guarded, real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

WITHIN_ONE = "Acos.argument-within-one"


def _rounded(name: str) -> ElementFunction:
    """The function of MPFR with a name, rounded once."""
    return lambda x, once: getattr(once, name)(x)


def require_arguments(X: Array) -> None:
    """Every element lies in [-1, 1] or is NaN.

    Raises:
        NoValue: one does not.
    """
    refuse(WITHIN_ONE, np.abs(X) > 1, X, "X", "outside [-1, 1]")


EXP, LOG, SQRT, TANH, ACOS = map(_rounded, ("exp", "log", "sqrt", "tanh", "acos"))

OPERATORS = (
    *(
        Operator(name=name, define=elementwise_definition(exact), kernel=kernel, bound=elementwise.transfer(bound))
        for name, exact, kernel, bound in (
            ("Exp", EXP, real_function(EXP, np.exp), elementwise.EXP),
            ("Log", LOG, real_function(LOG, np.log), elementwise.LOG),
            ("Sqrt", SQRT, arithmetic(SQRT, np.sqrt), elementwise.SQRT),
            ("Tanh", TANH, real_function(TANH, np.tanh), elementwise.TANH),
        )
    ),
    Operator(
        name="Acos",
        define=elementwise_definition(ACOS, require=require_arguments),
        kernel=guarded(require_arguments, real_function(ACOS, np.arccos)),
        error_conditions=(WITHIN_ONE,),
        bound=elementwise.transfer(elementwise.ACOS),
    ),
)
