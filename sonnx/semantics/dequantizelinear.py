"""DequantizeLinear: Y[i] = (X[i] - x_zero_point) * x_scale.

SONNX DequantizeLinear of 2026-08; ONNX DequantizeLinear-10 to DequantizeLinear-28.  The difference is one of int32; it
is rounded to the type of x_scale, and the product once more into the type of Y (erratum dequantize-rounding).  One
scale for the whole tensor, or by the ONNX text one for each index of an axis, or for each block along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import elements
from sonnx.semantics.formats import ELEMENTS, Array, format_of
from sonnx.semantics.quantizelinear import of_elements
from sonnx.semantics.reals import array, nearest, number
from sonnx.stops import NotExecutable

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
    return (array([once.mul(middle.plus(number(x - z)), s) for x, s, z in rows], kind, X.shape),)


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
