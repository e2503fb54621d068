"""DequantizeLinear: Y[i] = (X[i] - x_zero_point) * x_scale.

SONNX DequantizeLinear of 2026-08; ONNX DequantizeLinear-10 to DequantizeLinear-28.  The difference of int32 is taken
in int32 and wraps around (example 2 of the page), that of shorter integers is exact; it
is rounded to the type of x_scale, and the product once more into the type of Y (erratum dequantize-rounding).  One
scale for the whole tensor, or by the ONNX text one for each index of an axis, or for each block along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.certified_rounding import BLOCK, one_nan
from sonnx.numerics.correctly_rounded import array, nearest, number
from sonnx.numerics.elementwise import elements
from sonnx.numerics.elementwise_kernels import Kernel
from sonnx.numerics.exact_sums import wrapped
from sonnx.numerics.formats import ELEMENTS, Array, format_of
from sonnx.numerics.numpy_trials import arithmetic_is_ieee
from sonnx.operators.quantizelinear import of_elements

OPERATOR = "DequantizeLinear"
ROUNDS = ("difference",)

TYPES = {0: None, 1: "float", 10: "float16", 16: "bfloat16"}
"""ONNX's numbers of the element types of Y; 0 is the type of x_scale."""


def result_type(names: Mapping[str, Any]) -> str:
    """The element type of Y: the attribute output_dtype, else that of x_scale.

    Raises:
        NotExecutable: the attribute names a type the executor does not know.
    """
    wanted = names.get("output_dtype", 0)
    if wanted not in TYPES:
        raise NotExecutable(f"output_dtype is {wanted}, which is no floating-point type")
    return TYPES[wanted] or str(names["x_scale"].type)


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the shape of X and the type of x_scale."""
    X, scale, zero_point = spread(application, inputs)
    kind, middle = ELEMENTS[result_type(application.names)], nearest(scale.dtype)
    once = nearest(kind)
    rows = zip(elements(X), elements(scale), elements(zero_point), strict=True)
    wraps = inputs[0] is not None and inputs[0].dtype == np.int32
    return (array([once.mul(middle.plus(number(difference(x, z, wraps))), s) for x, s, z in rows], kind, X.shape),)


def difference(x: int, zero_point: int, wraps: bool) -> int:
    """x - zero_point, of int32 modulo 2^32."""
    return wrapped(int(x) - int(zero_point), np.dtype(np.int32)) if wraps else int(x) - int(zero_point)


def spread(application: Application, inputs: Sequence[Array | None]) -> list[Array]:
    """X, the scale and the zero point of each of its elements; an absent zero point is 0.

    Raises:
        NotExecutable: X is of a type the executor does not know.
    """
    X, scale, zero_point = (*inputs, None)[:3]
    assert X is not None and scale is not None  # noqa: S101  required inputs
    if format_of(X.dtype) is not None:
        raise NotExecutable("it dequantizes integers only")
    if zero_point is None:
        zero_point = np.zeros(scale.shape, X.dtype)
    return [X, *(of_elements(application, X.shape, each) for each in (scale, zero_point))]


# ------------------------------------------------------------------
# DequantizeLinear, fast: the difference in int64, its one rounding, and the processor's product.


EXACT = 2
"""Bytes of X up to which its differences are exact in float, and rounded once from there."""


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def dequantize(inputs: Sequence[Any], out: Array) -> Array:
        X, scale, zero_point = spread(application, inputs)
        direct = scale.dtype in (ELEMENTS["float"], ELEMENTS["double"]) or X.itemsize <= EXACT
        if scale.dtype != out.dtype or not direct or not arithmetic_is_ieee(out.dtype):
            np.copyto(out, evaluate(application, inputs)[0])
            application.count(out.size, out.size)
            return out
        flat, pieces = out.reshape(-1), [each.reshape(-1) for each in (X, scale, zero_point)]
        for start in range(0, flat.size, BLOCK):
            x, s, z = (each[start : start + BLOCK] for each in pieces)
            less = np.subtract(x, z, dtype=np.int32) if x.dtype == np.int32 else x.astype(np.int64) - z
            y = flat[start : start + BLOCK]
            np.multiply(less.astype(scale.dtype), s, out=y)
            one_nan(y)
        return out

    return dequantize
