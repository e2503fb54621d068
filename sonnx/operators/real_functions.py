"""Exp, Log, Sqrt, Tanh, Acos and Erf: Y[i] = f(X[i]) over the reals, rounded once; NaN gives NaN.

Exp     e^X[i]; -Inf gives +0, +Inf +Inf, both zeros 1.  What exceeds the largest finite number after rounding is +Inf.
Log     ln X[i]; numbers below -0 give NaN, both zeros -Inf, +Inf +Inf, 1 +0.
Sqrt    the square root of X[i]; numbers below -0 give NaN, -0 gives -0, +Inf +Inf (IEEE 754-2019, 5.4.1).
Tanh    (1 - e^(-2 X[i])) / (1 + e^(-2 X[i])); the infinities give -1 and 1, a zero itself: the function is odd.
Acos    the y in [0, pi] with cos y = X[i]; 1 gives +0; outside [-1, 1] the value is undefined.
Erf     the error function, 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to X[i]; the infinities give -1 and 1, a zero
        itself.

SONNX of 2026-08, sections on floats, with the errata tanh-literal-formula and tanh-negative-zero, and Acos of 2026-10;
ONNX versions 1 to 13, Acos-7 to Acos-22, Erf-9 to Erf-13.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf as math_erf
from math import inf
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.elementwise import ElementFunction, elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import arithmetic, guarded, real_function
from sonnx.numerics.enclosures import elementwise
from sonnx.numerics.enclosures.values import ARGUMENT
from sonnx.numerics.formats import ELEMENTS, Array, format_of
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


EXP, LOG, SQRT, TANH, ACOS, ERF = map(_rounded, ("exp", "log", "sqrt", "tanh", "acos", "erf"))


def approximate(x: Array, out: Array) -> None:
    """The C library's function in float64."""
    out[...] = np.fromiter(map(math_erf, x.tolist()), np.float64, x.size)


def erf_kernel(application: Application) -> Kernel:
    """From float64; double goes to the definition, because the C library has no function of more digits."""
    approximated = real_function(ERF, approximate)(application)

    def error_function(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"] or format_of(out.dtype) is None:
            np.copyto(out, define_erf(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return error_function


def define_erf(application: Application, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Y, of the shape and type of X.

    Raises:
        NotExecutable: X is of integers, whose function values are not.
    """
    if format_of(inputs[0].dtype) is None:
        raise NotExecutable(f"no text says how the error function of elements of type {inputs[0].dtype} is rounded")
    return elementwise_definition(ERF)(application, inputs)


OPERATORS = (
    *(
        Operator(
            name=name,
            elementwise=True,
            continuous=True,
            monotone="increasing",
            ends=ends,
            lipschitz=lipschitz,
            define=elementwise_definition(exact),
            kernel=kernel,
            bound=elementwise.transfer(bound),
        )
        for name, exact, kernel, ends, lipschitz, bound in (
            ("Exp", EXP, real_function(EXP, np.exp), (0, inf), None, elementwise.EXP),
            ("Log", LOG, real_function(LOG, np.log), None, None, elementwise.LOG),
            ("Sqrt", SQRT, arithmetic(SQRT, np.sqrt), (0, inf), None, elementwise.SQRT),
            ("Tanh", TANH, real_function(TANH, np.tanh), (-1, 1), 1, elementwise.TANH),
        )
    ),
    Operator(
        name="Acos",
        elementwise=True,
        continuous=True,
        monotone="decreasing",
        define=elementwise_definition(ACOS, require=require_arguments),
        kernel=guarded(require_arguments, real_function(ACOS, np.arccos)),
        error_conditions=(WITHIN_ONE,),
        shown_by={WITHIN_ONE: ARGUMENT},
        ends=(0, 3.2),
        bound=elementwise.transfer(elementwise.ACOS),
    ),
    Operator(
        name="Erf",
        elementwise=True,
        continuous=True,
        monotone="increasing",
        ends=(-1, 1),
        lipschitz=1.13,
        define=define_erf,
        kernel=erf_kernel,
        bound=elementwise.transfer(elementwise.ERF),
    ),
)
