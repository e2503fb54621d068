"""Cast: output[i] = input[i] in the element type `to`.

ONNX Cast-1 to Cast-28.  To floating point: rounded once; into a type of at most eight bits as `saturate` and
`round_mode` say (`small_floats.py`).  From floating point to an integer: without the fractional part; a number beyond
the type, an infinity and NaN have no value there.  Between integers: modulo 2^n.  To bool: every element but a zero is
true, NaN too.  From bool: 0 and 1.  From and to strings: `numerals.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, trunc
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics import numerals, small_floats
from sonnx.numerics.application import Application, Kernel, required
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.elementwise import integer_array
from sonnx.numerics.elementwise_kernels import canonicalize_nans_in_blocks
from sonnx.numerics.enclosures import steps
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.formats import (
    ELEMENTS,
    NAMES,
    TEXT,
    WIDER,
    Array,
    format_of,
    is_integer,
    is_small_float,
    limits_of,
    widened,
)
from sonnx.numerics.rounding import grid_of, nan_of, narrow, nearest
from sonnx.operators.operator import Operator

NUMBERS = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "double", 12: "uint32", 13: "uint64", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
    19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2",
    26: "int2", 27: "float6e2m3", 28: "float6e3m2",
}  # fmt: skip
"""ONNX's numbers of the element types that Cast knows."""


def target_type(application: Application) -> np.dtype[Any]:
    """The type `to`.

    Raises:
        NotExecutable: it is absent, or one that Cast does not know.
    """
    written = application.parameter("to")
    name = written.lower() if isinstance(written, str) else NUMBERS.get(written, "")  # Cast-1 has names
    if name not in NUMBERS.values():
        raise NotExecutable(f"the attribute to is {written}, which is not an element type of Cast")
    return ELEMENTS[name]


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the shape of input.

    Raises:
        NotExecutable: an element has no value in the type.
    """
    X, kind = inputs[0], target_type(application)
    if X.dtype == kind == TEXT:
        return (X,)
    if X.dtype == TEXT and is_integer(kind):
        return (integer_array([numerals.read_integer(x, limits_of(kind)) for x in X.ravel()], kind, X.shape),)
    return (_converted(numbers(X), X, kind, application),)


def numbers(X: Array) -> list[Any]:
    """The numbers of an array in row-major order, without rounding: int, float or, of strings, Fraction."""
    if X.dtype == TEXT:
        return [numerals.read(x) for x in X.ravel()]
    if is_small_float(X.dtype):
        return list(small_floats.elements(X))
    wide = X.astype(np.float64) if format_of(X.dtype) is not None else X
    return [int(x) if isinstance(x, bool) else x for x in wide.ravel().tolist()]


def _converted(values: list[Any], X: Array, kind: np.dtype[Any], application: Application) -> Array:
    if kind == TEXT:
        array = np.empty(len(values), TEXT)
        array[:] = numerals.written(values, X.dtype)
        return array.reshape(X.shape)
    if kind == np.bool_:
        return np.array([bool(x != 0) for x in values], np.bool_).reshape(X.shape)
    if is_integer(kind):
        if format_of(X.dtype) is not None or is_small_float(X.dtype):
            require_range(X, kind)
        return integer_array([trunc(x) for x in values], kind, X.shape)
    if is_small_float(kind):
        saturate, mode = bool(application.parameter("saturate")), application.parameter("round_mode")
        return small_floats.rounded(values, kind, X.shape, saturate=saturate, mode=mode)
    unsigned = grid_of(kind).number_format.unsigned
    return np.array([rounded(x, kind) for x in values], unsigned).view(kind).reshape(X.shape)


def rounded(x: Any, kind: np.dtype[Any]) -> int:
    """The pattern of x, rounded once."""
    if isinstance(x, float) and not isfinite(x):
        number_format = grid_of(kind).number_format
        return nan_of(kind) if x != x else number_format.infinity + (number_format.sign if x < 0 else 0)
    return nearest(Fraction(x), kind, isinstance(x, float) and np.signbit(x).item())


def require_range(X: Array, kind: np.dtype[Any]) -> None:
    """Every element, without its fractional part, is a number of an integer type.

    Raises:
        NotExecutable: one is not.
    """
    least, greatest = limits_of(kind)
    whole = np.trunc(X.astype(np.float64))
    inside = (whole >= float(least)) & (whole < float(greatest) + 1)
    if not inside.all():
        index = np.argwhere(~np.atleast_1d(inside))[0].tolist() if X.ndim else ""
        element = float(X[tuple(index)])
        raise NotExecutable(f"input{index} is {element}, which has no value in {kind.name}, and no text gives one")


def kernel(application: Application) -> Kernel:
    """The conversions of numpy where they are the one rounding, the truncation or the remainder that is meant.

    Integers become float or double in one rounding of the processor; integers of more digits than float has reach the
    types of 16 bits by the definition, as do strings, and every type the types of at most eight bits.  From double to a
    narrower type: see `rounding.narrow`.
    """
    kind = target_type(application)

    def cast(inputs: Sequence[Any], out: Array) -> Array:
        X = inputs[0]
        if TEXT in (X.dtype, kind) or kind in WIDER:
            np.copyto(out, define(application, inputs)[0])
            return out
        X = widened(X)
        if kind == np.bool_:
            np.not_equal(X, np.zeros((), X.dtype), out=out)
        elif format_of(kind) is None:
            _to_integers(X, out)
        elif format_of(X.dtype) is None and kind.itemsize > 2:
            np.copyto(out, X, casting="unsafe")
        elif X.dtype in (ELEMENTS["int64"], ELEMENTS["uint64"]):
            np.copyto(out, define(application, inputs)[0])
        else:
            np.copyto(out, narrow(X.astype(np.float64), kind))  # every X is exact in float64
            canonicalize_nans_in_blocks(out, application.block(BLOCK_ELEMENTS))
        return out

    return cast


def _to_integers(X: Array, out: Array) -> None:
    if format_of(X.dtype) is None:
        np.copyto(out, X, casting="unsafe")
    else:
        require_range(X, out.dtype)
        np.copyto(out, np.trunc(X.astype(np.float64)), casting="unsafe")


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors."""
    [X] = required(inputs, 1)
    return [steps.cast(context, X, NAMES[target_type(context.application)])]


OPERATOR = Operator(name="Cast", elementwise=True, converts=True, define=define, kernel=kernel, bound=bound)
