"""Abs, Neg, Sign, Relu, Ceil and Floor: exact functions of one element.

Abs     X[i] if X[i] >= 0, else -X[i].  The sign of a float is cleared, that of -0 and -Inf too; the least integer has
        no absolute value in its type.  SONNX of 2026-08; ONNX Abs-1 to Abs-13.
Neg     -X[i].  Integers modulo 2^n: the least one stays.  The sign of a float is changed, that of a zero and an
        infinity too.  SONNX of 2026-10; ONNX Neg-1 to Neg-13.
Sign    1 if X[i] > 0, -1 if X[i] < 0, else 0.  Both zeros give +0; NaN, which the text leaves out, gives NaN.
        ONNX Sign-9 to Sign-13.
Relu    0 if X[i] < 0, else X[i].  A negative element gives +0; -0 and NaN stay, bit for bit (erratum
        relu-sign-of-zero).  SONNX of 2026-08; ONNX Relu-1 to Relu-14.
Ceil    the smallest whole number that is not below X[i]; numbers between -1 and 0 give -0, as IEEE 754-2019, 5.9, has
        it.  ONNX Ceil-1 to Ceil-13.
Floor   the largest whole number that is not above X[i]; -0 is the zero below no number but itself.  ONNX Floor-1 to
        Floor-13.

NaN gives the quiet NaN, but for Relu.  Ceil and Floor leave whole numbers, zeros and infinities.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.correctly_rounded import ZERO, is_infinite, is_nan, is_zero
from sonnx.numerics.elementwise import elementwise_definition, refuse
from sonnx.numerics.elementwise_kernels import clip_into, guarded, numpy_kernel
from sonnx.numerics.enclosures import elementwise, rectifiers, steps
from sonnx.numerics.enclosures.values import NO_WRAP_AROUND
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats, same_numbers

REPRESENTABLE = "Abs.absolute-value-representable"


def absolute(x: Any, once: Any = None) -> Any:
    """|x|."""
    return abs(x)


def require_absolute_values(X: Array) -> None:
    """No element of a signed integer type is the least one.

    Raises:
        NoValue: one is.
    """
    if X.dtype.kind == "i":
        refuse(REPRESENTABLE, np.equal(X, np.iinfo(X.dtype).min), X, "X", "whose absolute value its type does not have")


def negative(x: Any, once: Any = None) -> Any:
    """-x."""
    return -x


def sign(x: Any, once: Any = None) -> Any:
    """1, -1 or 0; NaN for NaN."""
    return x if x != x else (x > 0) - (x < 0)


def numpy_sign(x: Array, out: Array) -> None:
    """The sign by numpy, with +0 for both zeros."""
    np.sign(x, out=out)
    np.copyto(out, 0, where=out == 0)


def relu(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X = inputs[0]
    return (np.where(X < 0, np.zeros((), X.dtype), X),)


def relu_kernel(application: Application) -> Kernel:
    """X, not below 0."""

    def relu_into(inputs: Sequence[Any], out: Array) -> Array:
        clip_into(inputs[0], np.zeros((), out.dtype), None, out, application.block(BLOCK_ELEMENTS))
        return out

    return relu_into


def ceil(x: Any, once: Any) -> Any:
    """The smallest whole number that is not below x."""
    if is_nan(x) or is_infinite(x) or is_zero(x):
        return x
    up = once.ceil(x)
    return -ZERO if up == 0 and x < 0 else up


def floor(x: Any, once: Any) -> Any:
    """The largest whole number that is not above x."""
    return x if is_nan(x) or is_infinite(x) or is_zero(x) else once.floor(x)


OPERATORS = (
    Operator(
        name="Abs",
        elementwise=True,
        twice="same",
        continuous=True,
        lipschitz=1,
        define=elementwise_definition(absolute, require=require_absolute_values),
        kernel=guarded(require_absolute_values, numpy_kernel(np.abs)),
        error_conditions=(REPRESENTABLE,),
        shown_by={REPRESENTABLE: NO_WRAP_AROUND},
        ends=(0, inf),
        bound=elementwise.transfer(elementwise.ABS),
    ),
    Operator(
        name="Neg",
        elementwise=True,
        twice="undone",
        monotone="decreasing",
        continuous=True,
        lipschitz=1,
        define=elementwise_definition(negative),
        kernel=numpy_kernel(np.negative),
        bound=elementwise.transfer(elementwise.NEG),
    ),
    Operator(
        name="Sign",
        elementwise=True,
        twice="same",
        monotone="increasing",
        ends=(-1, 1),
        versions=(9, 13),
        changes=(9,),
        output_element="first",
        keeps_shape=True,
        define=elementwise_definition(sign),
        kernel=numpy_kernel(numpy_sign),
        signature=StatedSignature(inputs=(1, 1), output_specs=same_numbers),
        bound=steps.step(np.sign, unit=False),
    ),
    Operator(
        name="Relu",
        elementwise=True,
        twice="same",
        continuous=True,
        monotone="increasing",
        ends=(0, inf),
        lipschitz=1,
        define=relu,
        kernel=relu_kernel,
        bound=rectifiers.relu,
    ),
    *(
        Operator(
            name=name,
            elementwise=True,
            twice="same",
            monotone="increasing",
            versions=(1, 6, 13),
            changes=(1,),
            output_element="first",
            keeps_shape=True,
            define=elementwise_definition(function),
            kernel=numpy_kernel(ufunc),
            signature=StatedSignature(inputs=(1, 1), output_specs=same_floats),
            bound=steps.step(ufunc),
        )
        for name, function, ufunc in (("Ceil", ceil, np.ceil), ("Floor", floor, np.floor))
    ),
)
