"""Pow: C[i] = A[i]^B[i]; floats rounded once into the type of A.

SONNX Pow of 2026-08; ONNX Pow-1 to Pow-15; for floats the table of special values with the order of its erratum
pow-rows-overlap, which is that of IEEE 754-2019, 9.2.1: x^0 = 1 and 1^y = 1 also for NaN.  0^0 = 1 over integers
(erratum pow-zero-to-zero).  A power of integers has a value where the exponent is not negative and the power is a
number of their type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.correctly_rounded import to_mpfr
from sonnx.numerics.elementwise import each, elements, integer_array, refuse
from sonnx.numerics.elementwise_kernels import real_function_of_two
from sonnx.numerics.enclosures import powers
from sonnx.numerics.enclosures.values import EXPONENT, NO_WRAP_AROUND
from sonnx.numerics.formats import Array, format_of
from sonnx.operators.operator import Operator

EXPONENT_NOT_NEGATIVE, REPRESENTABLE = "Pow.exponent-not-negative", "Pow.power-representable"


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape and the type of A.

    Raises:
        NoValue: Pow.exponent-not-negative, Pow.power-representable.
    """
    A, B = broadcast(application.operator, *inputs)
    if format_of(A.dtype) is not None:
        return (each(power, A, B),)
    if format_of(B.dtype) is not None:
        if not np.all(np.isfinite(B) & (np.floor(B) == B)):
            raise NotExecutable("an exponent is not a whole number, and no text says which integer the power becomes")
        B = integer_array(list(map(int, elements(B))), np.dtype(np.int64), B.shape)
    return (integers(A, B),)


def power(a: Any, b: Any, once: Any) -> Any:
    """a^b; an exponent of a type of integers is exact."""
    return once.pow(a, to_mpfr(b) if isinstance(b, int) else b)


def integers(A: Array, B: Array) -> Array:
    """Powers of integers."""
    refuse(EXPONENT_NOT_NEGATIVE, np.less(B, 0), B, "B", "a negative exponent of an integer")
    limits = np.iinfo(A.dtype)
    powers_in_order = []
    for place, (a, b) in enumerate(zip(elements(A), elements(B), strict=True)):
        power = a**b if abs(a) < 2 or b < limits.bits + 1 else limits.max + 1  # every power of these is longer
        if not limits.min <= power <= limits.max:
            index = [int(i) for i in np.unravel_index(place, A.shape)] if A.ndim else ""
            raise NoValue(REPRESENTABLE, f"A{index} is {a} and B{index} {b}: the power is not of type {A.dtype.name}")
        powers_in_order.append(power)
    return integer_array(powers_in_order, A.dtype, A.shape)


def kernel(application: Application) -> Kernel:
    """By numpy's function in the wider type; integers by the definition."""
    approximated = real_function_of_two(power, approximate)(application)

    def powers(inputs: Sequence[Any], out: Array) -> Array:
        if format_of(out.dtype) is not None:
            return approximated(inputs, out)
        np.copyto(out, define(application, inputs)[0])
        return out

    return powers


def approximate(x: Array, y: Array, out: Array) -> None:
    """x^y.  For a single exponent of 0.5 numpy takes the root, which is wrong for -0 and -Inf; so it gets two."""
    if x.size == 1:
        out[...] = np.power(np.repeat(x, 2), np.repeat(y, 2))[:1]
    else:
        np.power(x, y, out=out)


OPERATOR = Operator(
    name="Pow",
    elementwise=True,
    continuous=True,
    define=define,
    kernel=kernel,
    error_conditions=(EXPONENT_NOT_NEGATIVE, REPRESENTABLE),
    shown_by={EXPONENT_NOT_NEGATIVE: EXPONENT, REPRESENTABLE: NO_WRAP_AROUND},
    axis_broadcasting=True,
    bound=powers.pow_,
)
