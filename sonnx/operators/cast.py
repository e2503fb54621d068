"""Cast: output[i] = input[i] in the element type `to`.

ONNX Cast-6 to Cast-28.  To floating point: rounded once.  From floating point to an integer: without the fractional
part; a number beyond the type, an infinity and NaN have no value there.  Between integers: modulo 2^n.  To bool: every
element but a zero is true, NaN too.  From bool: 0 and 1.  `saturate` and `round_mode` concern types of 8 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.correctly_rounded import to_mpfr
from sonnx.numerics.elementwise import each, elements, integer_array
from sonnx.numerics.elementwise_kernels import canonicalize_nans_in_blocks
from sonnx.numerics.formats import ELEMENTS, Array, format_of
from sonnx.numerics.rounding import narrow
from sonnx.operators.operator import Operator

NUMBERS = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "double", 12: "uint32", 13: "uint64", 16: "bfloat16",
}  # fmt: skip
"""ONNX's numbers of the element types the executor knows."""


def target_type(application: Application) -> np.dtype[Any]:
    """The type `to`.

    Raises:
        NotExecutable: it is absent, or one the executor does not know.
    """
    number = application.attribute("to", None)
    element = number.lower() if isinstance(number, str) else NUMBERS.get(number)  # a name before version 6
    if element is None or element not in NUMBERS.values():
        raise NotExecutable(f"the attribute to is {number}, which is not an element type that the executor knows")
    return ELEMENTS[element]


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the shape of input.

    Raises:
        NotExecutable: an element has no value in the type.
    """
    X, kind = inputs[0], target_type(application)
    if format_of(kind) is not None:
        return (each(rounded, X, kind=kind),)
    if kind == np.bool_:
        return (each(truth, X, kind=kind),)
    if format_of(X.dtype) is None:
        return (integer_array([int(x) for x in elements(X)], kind, X.shape),)
    require_range(X, kind)
    return (each(truncated, X, kind=kind),)


def rounded(x: Any, once: Any) -> Any:
    """x, rounded once."""
    return once.plus(to_mpfr(int(x)) if isinstance(x, int) else x)


def truth(x: Any) -> bool:
    """Whether x is not a zero."""
    return bool(x != 0)


def truncated(x: Any) -> int:
    """X without its fractional part; the int of an mpfr number would be rounded."""
    return int(float(x))


def require_range(X: Array, kind: np.dtype[Any]) -> None:
    """Every element, without its fractional part, is a number of an integer type.

    Raises:
        NotExecutable: one is not.
    """
    limits, whole = np.iinfo(kind), np.trunc(X.astype(np.float64))
    inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1)
    if not inside.all():
        index = np.argwhere(~np.atleast_1d(inside))[0].tolist() if X.ndim else ""
        element = float(X[tuple(index)])
        raise NotExecutable(f"input{index} is {element}, which has no value in {kind.name}, and no text gives one")


def kernel(application: Application) -> Kernel:
    """The conversions of numpy where they are the one rounding, the truncation or the remainder that is meant.

    Integers become float or double in one rounding of the processor; integers of more digits than float has reach the
    types of 16 bits by the definition.  From double to a narrower type: see `rounding.narrow`.
    """
    kind = target_type(application)

    def cast(inputs: Sequence[Any], out: Array) -> Array:
        X = inputs[0]
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
            canonicalize_nans_in_blocks(out)
        return out

    return cast


def _to_integers(X: Array, out: Array) -> None:
    if format_of(X.dtype) is None:
        np.copyto(out, X, casting="unsafe")
    else:
        require_range(X, out.dtype)
        np.copyto(out, np.trunc(X.astype(np.float64)), casting="unsafe")


OPERATOR = Operator(name="Cast", exact=True, define=define, kernel=kernel)
