"""QuantizeLinear: Y[i] = min(max(round(X[i] / y_scale) + y_zero_point, least), largest).

SONNX QuantizeLinear of 2026-08, FUNC_0010; ONNX QuantizeLinear-10 to QuantizeLinear-28.  The quotient is rounded to the
type of y_scale, then to a whole number, both to nearest even; the sum is exact.  A quotient that overflows saturates
(erratum quantize-quotient-overflows).  Into a floating-point type the exact sum is rounded once instead, as Cast rounds
it; a zero point that is absent is not added.  One scale for the whole tensor, or by the ONNX text one for each index of
an axis, or for each block along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import copysign, isfinite
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics import small_floats
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.correctly_rounded import rounding_context, to_mpfr
from sonnx.numerics.elementwise import elements, integer_array, refuse
from sonnx.numerics.enclosures import arithmetic, rectifiers, steps, sums
from sonnx.numerics.enclosures.values import DIVISOR, FINITE, Context, Transfer, Value
from sonnx.numerics.formats import (
    ELEMENTS,
    NAMES,
    Array,
    bits_of,
    format_of,
    is_small_float,
    limits_of,
    widened,
)
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.operators.operator import Operator

SCALE_NOT_ZERO = "QuantizeLinear.scale-not-zero"
SCALE_FINITE = "QuantizeLinear.scale-finite"
INPUT_FINITE = "QuantizeLinear.input-finite"

TYPES = {
    0: "uint8", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
    19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 25: "uint2", 26: "int2",
    27: "float6e2m3", 28: "float6e3m2",
}  # fmt: skip
"""ONNX's numbers of the element types of Y; 0, without a zero point, is uint8."""

PRECISIONS = {1: "float", 10: "float16", 11: "double", 16: "bfloat16"}
"""ONNX's numbers of element types that a quotient is rounded to."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the shape of X and the type of y_zero_point.

    Raises:
        NoValue: QuantizeLinear.scale-not-zero, QuantizeLinear.scale-finite, QuantizeLinear.input-finite.
    """
    X, scale, zero_point = spread(application, inputs)
    require_finite(X, scale)
    kind, precision = zero_point.dtype, quotient_type(application, scale)
    once = rounding_context(precision) if precision is not None else None
    quotients = [quotient(x, s, once) for x, s in zip(elements(X), elements(scale), strict=True)]
    if is_small_float(kind):
        [stated_zero_point] = optional(inputs, 2)
        zeros = [-0.0] * X.size if stated_zero_point is None else elements(zero_point)  # -0 is added without effect
        sums = [shifted(q, z) for q, z in zip(quotients, zeros, strict=True)]
        saturate = bool(application.parameter("saturate"))
        return (small_floats.rounded(sums, kind, X.shape, saturate=saturate),)
    least, greatest = limits_of(kind)
    zeros = elements(zero_point)
    whole_numbers = [min(max(to_whole(q, kind) + z, least), greatest) for q, z in zip(quotients, zeros, strict=True)]
    return (integer_array(whole_numbers, kind, X.shape),)


def spread(application: Application, inputs: Sequence[Array | None]) -> list[Array]:
    """X, the scale and the zero point of each of its elements; an absent zero point is 0, of type uint8.

    Raises:
        NotExecutable: the result would be of a type the executor does not know.
    """
    (X, scale), [zero_point] = required(inputs, 2), optional(inputs, 2)
    if zero_point is None:
        zero_point = np.zeros(scale.shape, ELEMENTS[result_type(application.names)])
    return [X, *(spread_values(application, X.shape, array) for array in (scale, zero_point))]


def spread_values(application: Application, shape: Sequence[int], values: Array) -> Array:
    """One value for the tensor, for each index of the axis, or for each block along it, brought to a shape.

    Raises:
        NotExecutable: there are more or fewer values than that.
    """
    return spread_along(shape, values, application.parameter("axis"), application.parameter("block_size"))


def spread_along(shape: Sequence[int], values: Array, axis: int, block: int) -> Array:
    """As `spread_values`, along an axis in blocks of so many elements; without blocks these are 0.

    Raises:
        NotExecutable: there are more or fewer values than that.
    """
    rank = len(shape)
    if values.ndim == 0 or values.size == 1:
        return np.broadcast_to(values.reshape(()), shape)
    wanted = list(shape)
    if -rank <= axis < rank:
        axis %= rank
        wanted = [-(-d // block) if i == axis else d for i, d in enumerate(shape)] if block > 0 else [shape[axis]]
    if list(values.shape) != wanted or not -rank <= axis < rank:
        what = f"axis {axis} of {list(shape)}{f', in blocks of {block}' if block else ''}"
        raise NotExecutable(f"scales or zero points of shape {list(values.shape)} do not fit {what}")
    if values.ndim == 1 and not block:
        return np.broadcast_to(values.reshape([-1 if i == axis else 1 for i in range(rank)]), shape)
    places = np.arange(shape[axis]) // max(block, 1)
    return np.broadcast_to(np.take(values, places, axis), shape)


def quotient_type(application: Application, scale: Array) -> np.dtype[Any] | None:
    """The type the quotient is rounded to: the attribute precision, else the type of y_scale.

    None where y_scale is of a type without fractions (int32, float8e8m0): the quotient is exact.

    Raises:
        NotExecutable: the attribute does not name a floating-point type.
    """
    precision = application.parameter("precision")
    if precision and precision not in PRECISIONS:
        raise NotExecutable(f"precision is {precision}, which is not a floating-point type")
    kind = ELEMENTS[PRECISIONS[precision]] if precision else scale.dtype
    return kind if format_of(kind) is not None else None


def result_type(names: Mapping[str, Any]) -> str:
    """The element type of Y where no zero point has it: the attribute output_dtype.

    Raises:
        NotExecutable: the attribute names a type the executor does not know.
    """
    wanted = names.get("output_dtype", 0)
    if wanted not in TYPES:
        raise NotExecutable(f"output_dtype is {wanted}, which is not a type to quantize to")
    return TYPES[wanted]


def quotient(x: Any, scale: Any, once: Any) -> Any:
    """X / scale, exactly or rounded once."""
    if once is not None:
        return once.div(to_mpfr(x), to_mpfr(scale))
    return Fraction(float(x)) / Fraction(scale) if x else copysign(0.0, x) * copysign(1.0, scale)


def shifted(quotient: Any, zero_point: float) -> Any:
    """The exact sum; of two zeros it is -0 where both are."""
    number = quotient if isinstance(quotient, Fraction) else float(quotient)
    if not (number and isfinite(number) and isfinite(zero_point)):
        return number + zero_point if isinstance(number, float) else zero_point
    return Fraction(number) + Fraction(zero_point)


def to_whole(quotient: Any, kind: np.dtype[Any]) -> int:
    """To nearest even; an infinite quotient is beyond every limit."""
    beyond: int = 4 << bits_of(kind)
    if abs(quotient) < beyond:
        rounded: int = round(quotient)
        return rounded
    return beyond if quotient > 0 else -beyond


def require_finite(X: Array, scale: Array) -> None:
    """Scale and elements have a quotient.

    Raises:
        NoValue: one does not.
    """
    refuse(SCALE_NOT_ZERO, widened(scale) == 0, scale, "y_scale", "a divisor")
    refuse(SCALE_FINITE, ~np.isfinite(widened(scale)), scale, "y_scale", "which is not finite")
    if format_of(X.dtype) is not None:
        refuse(INPUT_FINITE, ~np.isfinite(X), X, "X", "which is not finite")


def kernel(application: Application) -> Kernel:
    """The processor's quotient, rint, and the sum in float64, where it is exact within the limits."""

    def quantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        kind = quotient_type(application, scale)
        fast = X.dtype == scale.dtype == kind and format_of(kind) is not None and arithmetic_is_ieee(kind)
        if not fast or is_small_float(out.dtype):
            np.copyto(out, define(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        require_finite(X, scale)
        least, greatest = limits_of(out.dtype)
        flat, pieces = out.reshape(-1), [array.reshape(-1) for array in (X, scale, widened(zero_point))]
        block = application.block(BLOCK_ELEMENTS)
        for start in range(0, flat.size, block):
            x, s, z = (piece[start : start + block] for piece in pieces)
            q = np.rint(np.divide(x, s)).astype(np.float64)
            np.add(q, z, out=q)
            flat[start : start + block] = np.clip(q, least, greatest)
        return out

    return quantize


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, for constant scales and zero points of integers.

    The quotient may be a product with the rounded inverse of the scale; near the middle of two integers it may be
    rounded to either.

    Raises:
        NotExecutable: a parameter varies, or the result has no integers.
    """
    (X, scale), [zero_point] = required(inputs, 2), optional(inputs, 2)
    if scale.exact is None or (zero_point is not None and zero_point.exact is None):
        raise NotExecutable("QuantizeLinear has a bound for a constant scale and zero point only")
    application = context.application
    zero = np.zeros((), ELEMENTS[result_type(application.names)])
    if zero_point is not None and zero_point.exact is not None:
        zero = zero_point.exact
    precision = quotient_type(application, scale.exact)
    if is_small_float(zero.dtype) or precision is None:
        raise NotExecutable("QuantizeLinear has a bound for results of integers and floating-point quotients only")
    divisor = spread_values(application, X.shape, scale.exact.astype(np.float64))
    shift = spread_values(application, X.shape, widened(zero)).astype(np.float64)
    inner = context.into(NAMES[precision])
    if not context.require(DIVISOR, bool((np.abs(divisor) > inner.flushed).all()), "no scale is 0"):
        return [sums.not_known(X.shape)]
    inverse = arithmetic.below(1 / divisor), arithmetic.above(1 / divisor)
    quotient = inner.step(sums.scaled(inner, X, *inverse, roundings=2, rounded=True))
    whole = context.into(NAMES[zero.dtype])
    number = inner.step(steps.stepped(inner, quotient, np.rint))
    least, greatest = limits_of(zero.dtype)
    return [shifted_by(rectifiers.between(whole, number, least - shift, greatest - shift), shift, NAMES[zero.dtype])]


def shifted_by(transfer: Transfer, shift: Array, element: str) -> Transfer:
    """The transfer with whole numbers added, which are exact."""
    return replace(
        transfer, low=transfer.low + shift, high=transfer.high + shift, relaxed=None, element=element, saturates=True
    )


OPERATOR = Operator(
    name="QuantizeLinear",
    elementwise_with_scalars=True,
    axis_parameter="axis",
    may_overflow_inside=True,
    define=define,
    kernel=kernel,
    error_conditions=(SCALE_NOT_ZERO, SCALE_FINITE, INPUT_FINITE),
    shown_by={SCALE_NOT_ZERO: DIVISOR, SCALE_FINITE: DIVISOR, INPUT_FINITE: FINITE},
    rounding_points=("quotient", "integer"),
    result_type=result_type,
    bound=bound,
)
