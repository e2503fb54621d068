"""DequantizeLinear: Y[i] = (X[i] - x_zero_point) * x_scale.

SONNX DequantizeLinear of 2026-08; ONNX DequantizeLinear-10 to DequantizeLinear-28.  The difference of int32 is taken in
int32 and wraps around (example 2 of the page), that of shorter integers is exact; it is rounded to the type of x_scale,
and the product once more into the type of Y (erratum dequantize-rounding).  One scale for the whole tensor, or by the
ONNX text one for each index of an axis, or for each block along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.correctly_rounded import from_mpfr, rounding_context, to_mpfr
from sonnx.numerics.elementwise import elements
from sonnx.numerics.enclosures import arithmetic, sums
from sonnx.numerics.enclosures.values import NO_WRAP_AROUND, Context, Transfer, Value
from sonnx.numerics.exact_sums import wrapped
from sonnx.numerics.formats import ELEMENTS, NAMES, Array, format_of, is_integer, is_small_float, widened
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.numerics.rounding import canonicalize_nans
from sonnx.operators.operator import Operator
from sonnx.operators.quantizelinear import spread_values

MAX_EXACT_BYTES = 2
"""Bytes of an element of X up to which its differences are exact in float, and rounded once from there."""

TYPES = {0: None, 1: "float", 10: "float16", 16: "bfloat16"}
"""ONNX's numbers of the element types of Y; 0 is the type of x_scale."""


def result_type(names: Mapping[str, Any]) -> str:
    """The element type of Y: the attribute output_dtype, else that of x_scale.

    Raises:
        NotExecutable: the attribute names a type the executor does not know.
    """
    wanted = names.get("output_dtype", 0)
    if wanted not in TYPES:
        raise NotExecutable(f"output_dtype is {wanted}, which is not a floating-point type")
    return TYPES[wanted] or str(names["x_scale"].type)


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the shape of X and the type of x_scale."""
    X, scale, zero_point = spread(application, inputs)
    kind = ELEMENTS[result_type(application.names)]
    exact = format_of(scale.dtype) is None  # float8e8m0 has no fractions, double has every difference
    middle, once = rounding_context(ELEMENTS["double"] if exact else scale.dtype), rounding_context(kind)
    rows = zip(elements(X), elements(scale), elements(zero_point), strict=True)
    wraps = X.dtype == np.int32
    numbers = [once.mul(difference(x, z, wraps, middle), to_mpfr(s)) for x, s, z in rows]
    return (from_mpfr(numbers, kind, X.shape),)


def difference(x: Any, zero_point: Any, wraps: bool, middle: Any) -> Any:
    """X - zero_point, of int32 modulo 2^32, rounded once."""
    if isinstance(x, int):
        return middle.plus(to_mpfr(wrapped(x - zero_point, np.dtype(np.int32)) if wraps else x - zero_point))
    return middle.sub(to_mpfr(x), to_mpfr(zero_point))


def spread(application: Application, inputs: Sequence[Array | None]) -> list[Array]:
    """X, the scale and the zero point of each of its elements; an absent zero point is 0."""
    (X, scale), [zero_point] = required(inputs, 2), optional(inputs, 2)
    if zero_point is None:
        zero_point = np.zeros(scale.shape, X.dtype)
    return [X, *(spread_values(application, X.shape, array) for array in (scale, zero_point))]


def kernel(application: Application) -> Kernel:
    """The difference in 32 or 64 bits, its one rounding, and the processor's product."""

    def dequantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        direct = scale.dtype in (ELEMENTS["float"], ELEMENTS["double"]) or X.itemsize <= MAX_EXACT_BYTES
        shifted = is_small_float(X.dtype) and widened(zero_point).any()
        X, zero_point = widened(X), widened(zero_point)
        if scale.dtype != out.dtype or not direct or shifted or not arithmetic_is_ieee(out.dtype):
            np.copyto(out, define(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        flat, pieces = out.reshape(-1), [array.reshape(-1) for array in (X, scale, zero_point)]
        block = application.block(BLOCK_ELEMENTS)
        for start in range(0, flat.size, block):
            x, s, z = (piece[start : start + block] for piece in pieces)
            if x.dtype == np.int32:
                less = np.subtract(x, z, dtype=np.int32)
            else:
                less = x.astype(np.int64) - z if x.dtype.kind in "iu" else x
            y = flat[start : start + block]
            np.multiply(less.astype(scale.dtype), s, out=y)
            canonicalize_nans(y)
        return out

    return dequantize


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, of integers with constant scales and zero points.

    Raises:
        NotExecutable: a parameter varies, X has no integers, or the scale has another type than Y.
    """
    (X, scale), [zero_point] = required(inputs, 2), optional(inputs, 2)
    if scale.exact is None or (zero_point is not None and zero_point.exact is None):
        raise NotExecutable("DequantizeLinear has a bound for a constant scale and zero point only")
    kind = result_type(context.application.names)
    if not is_integer(ELEMENTS[X.element]) or NAMES[scale.exact.dtype] != kind:
        raise NotExecutable("DequantizeLinear has a bound for integers and scales of the type of the result only")
    context = context.into(kind)
    factor = spread_values(context.application, X.shape, scale.exact.astype(np.float64))
    zero = np.zeros((), np.int64)
    if zero_point is not None and zero_point.exact is not None:
        zero = widened(zero_point.exact)
    shift = spread_values(context.application, X.shape, zero).astype(np.float64)
    low, high = X.low - shift, X.high - shift
    size = arithmetic.magnitude(low, high) + X.error
    if X.element == "int32" and not context.require(NO_WRAP_AROUND, bool((size < 2.0**31).all()), "of differences"):
        return [sums.not_known(X.shape)]
    exact = size <= 1 / arithmetic.FORMATS[kind].unit
    rounded = np.where(exact, 0.0, context.hypotheses.rounding(kind, size))
    difference = context.step(
        Transfer(low, high, rounded, inputs=(X,), pulls=(lambda rows: rows,), terms=1, propagated=X.error)
    )
    return [sums.scaled(context, difference, factor, factor, roundings=1)]


OPERATOR = Operator(
    name="DequantizeLinear",
    elementwise_with_scalars=True,
    axis_parameter="axis",
    continuous=True,
    define=define,
    kernel=kernel,
    rounding_points=("difference",),
    result_type=result_type,
    bound=bound,
)
