"""QuantizeLinear: Y[i] = min(max(round(X[i] / y_scale) + y_zero_point, least), largest).

SONNX QuantizeLinear of 2026-08, FUNC_0010; ONNX QuantizeLinear-10 to QuantizeLinear-28.  The quotient is rounded to the
type of y_scale, then to a whole number, both to nearest even; the sum is exact.  A quotient that overflows saturates
(erratum quantize-quotient-overflows).  One scale for the whole tensor, or by the ONNX text one for each index of an
axis, or for each block along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.correctly_rounded import rounding_context
from sonnx.numerics.elementwise import elements, integer_array, refuse
from sonnx.numerics.formats import ELEMENTS, Array, format_of
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.operators.operator import Operator

SCALE_NOT_ZERO = "QuantizeLinear.scale-not-zero"
SCALE_FINITE = "QuantizeLinear.scale-finite"
INPUT_FINITE = "QuantizeLinear.input-finite"

INTEGERS = {0: "uint8", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16"}
"""ONNX's numbers of the element types of Y; 0, without a zero point, is uint8."""

PRECISIONS = {0: None, 1: np.float32, 10: np.float16, 11: np.float64}
"""ONNX's numbers of element types; 0 is the type of y_scale."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the shape of X and the type of y_zero_point.

    Raises:
        NoValue: QuantizeLinear.scale-not-zero, QuantizeLinear.scale-finite, QuantizeLinear.input-finite.
    """
    X, scale, zero_point = spread(application, inputs)
    require_finite(X, scale)
    limits, once = np.iinfo(zero_point.dtype), rounding_context(quotient_type(application, inputs))
    rows = zip(elements(_real(X)), elements(scale), elements(zero_point), strict=True)
    found = [min(max(to_whole(once.div(x, s), limits) + z, limits.min), limits.max) for x, s, z in rows]
    return (integer_array(found, zero_point.dtype, X.shape),)


def spread(application: Application, inputs: Sequence[Array | None]) -> list[Array]:
    """X, the scale and the zero point of each of its elements; an absent zero point is 0, of type uint8.

    Raises:
        NotExecutable: the result would be of a type the executor does not know.
    """
    X, scale, zero_point = (*inputs, None)[:3]
    assert X is not None and scale is not None  # noqa: S101  required inputs
    if zero_point is None:
        zero_point = np.zeros(scale.shape, ELEMENTS[result_type(application.names)])
    if format_of(zero_point.dtype) is not None:
        raise NotExecutable("it quantizes to integers only")
    return [X, *(spread_values(application, X.shape, each) for each in (scale, zero_point))]


def spread_values(application: Application, shape: Sequence[int], values: Array) -> Array:
    """One value for the tensor, for each index of the axis, or for each block along it, brought to a shape.

    Raises:
        NotExecutable: there are more or fewer values than that.
    """
    names, rank = application.names, len(shape)
    if values.ndim == 0 or values.size == 1:
        return np.broadcast_to(values.reshape(()), shape)
    axis, block = names.get("axis", 0), names.get("block_size", 0)
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


def quotient_type(application: Application, inputs: Sequence[Array | None]) -> np.dtype[Any]:
    """The type the quotient is rounded to: the attribute precision, else the type of y_scale.

    Raises:
        NotExecutable: the attribute names a type the executor does not know.
    """
    precision = application.names.get("precision", 0)
    assert inputs[1] is not None  # noqa: S101  a required input
    if precision not in PRECISIONS:
        raise NotExecutable(f"precision is {precision}, which is not a floating-point type")
    return np.dtype(PRECISIONS[precision] or inputs[1].dtype)


def result_type(names: Mapping[str, Any]) -> str:
    """The element type of Y where no zero point has it: the attribute output_dtype.

    Raises:
        NotExecutable: the attribute names a type the executor does not know.
    """
    wanted = names.get("output_dtype", 0)
    if wanted not in INTEGERS:
        raise NotExecutable(f"output_dtype is {wanted}, which is not an integer type that the executor knows")
    return INTEGERS[wanted]


def to_whole(quotient: Any, limits: Any) -> int:
    """To nearest even; an infinite quotient is beyond every limit."""
    beyond: int = 4 * (limits.max - limits.min)
    if abs(quotient) < beyond:
        rounded: int = round(quotient)
        return rounded
    return beyond if quotient > 0 else -beyond


def require_finite(X: Array, scale: Array) -> None:
    """Scale and elements have a quotient.

    Raises:
        NoValue: one does not.
    """
    refuse(SCALE_NOT_ZERO, scale == 0, scale, "y_scale", "a divisor")
    refuse(SCALE_FINITE, ~np.isfinite(scale), scale, "y_scale", "which is not finite")
    if format_of(X.dtype) is not None:
        refuse(INPUT_FINITE, ~np.isfinite(X), X, "X", "which is not finite")


def _real(X: Array) -> Array:
    return X.astype(np.float64) if format_of(X.dtype) is None else X


def kernel(application: Application) -> Kernel:
    """The processor's quotient, rint, and the sum in float64, where it is exact within the limits."""

    def quantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        kind = quotient_type(application, inputs)
        if not (X.dtype == scale.dtype == kind and arithmetic_is_ieee(kind)) or format_of(X.dtype) is None:
            np.copyto(out, define(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        require_finite(X, scale)
        limits = np.iinfo(out.dtype)
        flat, pieces = out.reshape(-1), [each.reshape(-1) for each in (X, scale, zero_point)]
        for start in range(0, flat.size, BLOCK_ELEMENTS):
            x, s, z = (each[start : start + BLOCK_ELEMENTS] for each in pieces)
            q = np.rint(np.divide(x, s)).astype(np.float64)
            np.add(q, z, out=q)
            flat[start : start + BLOCK_ELEMENTS] = np.clip(q, limits.min, limits.max)
        return out

    return quantize


OPERATOR = Operator(
    name="QuantizeLinear",
    define=define,
    kernel=kernel,
    error_conditions=(SCALE_NOT_ZERO, SCALE_FINITE, INPUT_FINITE),
    rounding_points=("quotient", "integer"),
    result_type=result_type,
)
