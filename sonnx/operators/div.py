"""Div: C[i] = A[i] / B[i]; integers without the fractional part, floats rounded once.

SONNX Div of 2026-08 and 2026-10; ONNX Div-1 to Div-14; IEEE 754-2019, 5.4.1: the signs of both operands decide that of
a zero or an infinity, 0/0 and Inf/Inf are NaN (errata div-cases-of-not-a-number, div-sign-of-zero).  An integer is not
divided by 0, nor the least one by -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.elementwise import elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import products
from sonnx.numerics.formats import Array, format_of
from sonnx.operators.operator import Operator

DIVISOR_NOT_ZERO, REPRESENTABLE = "Div.integer-divisor-not-zero", "Div.quotient-representable"


def div(a: Any, b: Any, once: Any = None) -> Any:
    """A / b, for integers truncated toward 0."""
    if once is not None:
        return once.div(a, b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def require_quotients(A: Array, B: Array) -> None:
    """Every quotient of integers is a number of their type.

    Raises:
        NoValue: Div.integer-divisor-not-zero, Div.quotient-representable.
    """
    if format_of(B.dtype) is None:
        refuse(DIVISOR_NOT_ZERO, B == 0, B, "B", "a divisor")
        if B.dtype.kind == "i":
            least = np.iinfo(A.dtype).min
            refuse(REPRESENTABLE, (least == A) & (B == -1), A, "A", "the least number of its type, divided by -1")


def kernel(application: Application) -> Kernel:
    """The processor's quotient; of integers the one rounded down, and one more where it is negative and not exact."""
    divide = arithmetic(div, np.divide)(application)

    def quotient(inputs: Sequence[Any], out: Array) -> Array:
        if format_of(out.dtype) is not None:
            return divide(inputs, out)
        A, B = np.broadcast_arrays(*inputs)
        require_quotients(A, B)
        np.floor_divide(A, B, out=out)
        if out.dtype.kind == "i":
            np.add(out, 1, out=out, where=((A < 0) != (B < 0)) & (out * B != A))
        return out

    return quotient


OPERATOR = Operator(
    name="Div",
    define=elementwise_definition(div, require=require_quotients),
    kernel=kernel,
    error_conditions=(DIVISOR_NOT_ZERO, REPRESENTABLE),
    axis_broadcasting=True,
    bound=products.divide,
)
