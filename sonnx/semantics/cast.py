"""Cast: output[i] = input[i] in the element type `to`.

ONNX Cast-6 to Cast-28.  To floating point: rounded once.  From floating point to an integer: without the fractional
part; a number beyond the type, an infinity and NaN have no value there.  Between integers: modulo 2^n.  To bool: every
element but a zero is true, NaN too.  From bool: 0 and 1.  `saturate` and `round_mode` concern types of 8 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each, elements, whole
from sonnx.semantics.formats import ELEMENTS, Array, format_of
from sonnx.semantics.reals import number
from sonnx.stops import NotExecutable

OPERATOR = "Cast"
INPUTS = 1
ATTRIBUTES = {"to": "int", "saturate": "int", "round_mode": "string"}

NUMBERS = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "double", 12: "uint32", 13: "uint64", 16: "bfloat16",
}  # fmt: skip
"""ONNX's numbers of the element types the executor knows."""


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Output has the shape of input."""
    return ((inputs[0][0], wanted(application)),)


def wanted(application: Application) -> np.dtype[Any]:
    """The type `to`.

    Raises:
        NotExecutable: it is absent, or one the executor does not know.
    """
    number = application.attribute("to", None)
    if number not in NUMBERS:
        raise NotExecutable(f"the attribute to is {number}, no element type that the executor knows")
    return ELEMENTS[NUMBERS[number]]


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the shape of input.

    Raises:
        NotExecutable: an element has no value in the type.
    """
    X, kind = inputs[0], wanted(application)
    if format_of(kind) is not None:
        return (each(rounded, X, kind=kind),)
    if kind == np.bool_:
        return (each(truth, X, kind=kind),)
    if format_of(X.dtype) is None:
        return (whole([int(x) for x in elements(X)], kind, X.shape),)
    require_range(X, kind)
    return (each(truncated, X, kind=kind),)


def rounded(x: Any, once: Any) -> Any:
    """x, rounded once."""
    return once.plus(number(int(x)) if isinstance(x, int) else x)


def truth(x: Any) -> bool:
    """Whether x is no zero."""
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
