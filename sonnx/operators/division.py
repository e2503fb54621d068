"""Div, Mod and Reciprocal: quotients and remainders.

Div           C[i] = A[i] / B[i]; integers without the fractional part, floats rounded once.  The signs of both operands
              decide that of a zero or an infinity, 0/0 and Inf/Inf are NaN (errata div-cases-of-not-a-number,
              div-sign-of-zero).  An integer is not divided by 0, nor the least one by -1.  SONNX of 2026-08 and
              2026-10; ONNX Div-1 to Div-14; IEEE 754-2019, 5.4.1.
Mod           C[i] = the remainder of A[i] divided by B[i].  fmod = 0: A - floor(A / B) * B, which has the sign of the
              divisor, rounded once; before version 28 of integers only.  fmod = 1: A - trunc(A / B) * B with the sign
              of the dividend, exactly.  Of floats x and y: NaN for an infinite x and for y = 0; x for an infinite y
              (fmod = 0: y where the signs differ).  No text gives a remainder of integers by 0.  ONNX Mod-10 to Mod-28.
Reciprocal    Y[i] = 1 / X[i], rounded once.  A zero gives the infinity of its sign.  ONNX Reciprocal-1 to
              Reciprocal-13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.correctly_rounded import ZERO, is_negative
from sonnx.numerics.elementwise import each, elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures import elementwise, products, steps
from sonnx.numerics.enclosures.values import DIVISOR, NO_WRAP_AROUND
from sonnx.numerics.formats import Array, format_of
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats

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


def div_kernel(application: Application) -> Kernel:
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


FLOATS_SINCE = 28
"""The version from which fmod = 0 has a meaning for floats."""


def remainder(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape and the type of A and B.

    Raises:
        NotExecutable: no text gives a remainder.
    """
    A, B = broadcast(application.operator, *inputs)
    truncated = application.parameter("fmod")
    floats = format_of(A.dtype) is not None
    if truncated not in (0, 1) or (truncated == 0 and floats and application.version < FLOATS_SINCE):
        raise NotExecutable(f"fmod is {truncated}, which has no meaning for {A.dtype.name}")
    if not floats and not np.all(B):
        raise NotExecutable("an element of B is 0, and no text gives a remainder by it")
    return (each(fmod if truncated else mod, A, B),)


def mod(a: Any, b: Any, once: Any = None) -> Any:
    """The remainder with the sign of b."""
    if once is None:
        return a % b
    rest = once.fmod(a, b)
    if rest == 0:
        return -ZERO if is_negative(b) else ZERO
    return once.add(rest, b) if (rest < 0) != (b < 0) else rest


def fmod(a: Any, b: Any, once: Any = None) -> Any:
    """The remainder with the sign of a."""
    if once is not None:
        return once.fmod(a, b)
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def reciprocal(x: Any, once: Any) -> Any:
    """1 / x."""
    return once.div(1, x)


def reciprocal_kernel(application: Application) -> Kernel:
    """The processor's quotient of 1 and X."""
    divide = arithmetic(div, np.divide)(application)

    def reciprocals(inputs: Sequence[Any], out: Array) -> Array:
        return divide([np.ones((), out.dtype), *inputs], out)

    return reciprocals


OPERATORS = (
    Operator(
        name="Div",
        elementwise=True,
        continuous=True,
        define=elementwise_definition(div, require=require_quotients),
        kernel=div_kernel,
        error_conditions=(DIVISOR_NOT_ZERO, REPRESENTABLE),
        shown_by={DIVISOR_NOT_ZERO: DIVISOR, REPRESENTABLE: NO_WRAP_AROUND},
        axis_broadcasting=True,
        bound=products.divide,
    ),
    Operator(name="Mod", elementwise=True, changes=(10,), define=remainder, bound=steps.mod),
    Operator(
        name="Reciprocal",
        elementwise=True,
        continuous=True,
        versions=(1, 6, 13),
        changes=(1,),
        output_element="first",
        keeps_shape=True,
        define=elementwise_definition(reciprocal),
        kernel=reciprocal_kernel,
        signature=StatedSignature(inputs=(1, 1), output_specs=same_floats),
        bound=elementwise.reciprocal,
    ),
)
