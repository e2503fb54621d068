"""Clip and LeakyRelu: elements that stay bit for bit on one side of a bound.

Clip        Y[i] = L if X[i] < L, M if X[i] > M, else X[i]; M wherever L > M.  Before version 11 the bounds are
            attributes; a number of float rounded to the type of X bounds its elements as the number itself does.  A
            bound that is absent or NaN does not bound (erratum clip-bound-not-a-number).  Where the bounds are crossed
            every element becomes M, NaN too (erratum clip-not-a-number-and-crossed-bounds).  Elements and bounds are
            copied bit for bit; both zeros are equal, so that a zero within the bounds stays.  SONNX of 2026-08; ONNX
            Clip-1 to Clip-13.
LeakyRelu   Y[i] = X[i] if X[i] >= 0, alpha * X[i] if X[i] < 0, rounded once.  An element that is not below -0 stays,
            -0, +Inf and NaN too.  alpha is the real number that is stored (erratum leakyrelu-alpha-conversion); the
            product is that of IEEE 754, NaN for alpha = 0 and X[i] = -Inf (erratum leakyrelu-nan).  SONNX of 2026-08;
            ONNX LeakyRelu-1 to LeakyRelu-16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel, NoValue, required
from sonnx.numerics.blocks import BLOCK_ELEMENTS
from sonnx.numerics.certified_rounding import DOUBLE
from sonnx.numerics.correctly_rounded import to_mpfr
from sonnx.numerics.elementwise import each
from sonnx.numerics.elementwise_kernels import clip_into
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import Array
from sonnx.numerics.numpy_trials import maximum_keeps_the_first_nan
from sonnx.numerics.rounding import canonicalize_nans, narrow
from sonnx.numerics.scratch import Scratch
from sonnx.operators.operator import Operator

INPUTS_SINCE, CROSSED_SINCE = 11, 13
"""The versions from which the bounds are inputs, and from which crossed bounds have a meaning."""


def clipped(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    [X] = required(inputs, 1)
    L, M = bounds(application, inputs)
    bounds_crossed, Y = crossed(application, L, M), X
    if L is not None:
        Y = np.where(X < L, L, Y)
    if M is not None:
        Y = np.where(X > M, M, Y)
    if bounds_crossed:
        Y = np.broadcast_to(M, X.shape)  # type: ignore[arg-type]
    return (Y,)


def bounds(application: Application, inputs: Sequence[Array | None]) -> tuple[Array | None, Array | None]:
    """L and M, None where there is none."""
    [X] = required(inputs, 1)
    if application.version >= INPUTS_SINCE:
        L, M = (*inputs[1:], None, None)[:2]
        return L, M
    attribute_values = [application.names[name] for name in ("min", "max")]
    with np.errstate(all="ignore"):
        L, M = (np.array(value).astype(X.dtype) if isinstance(value, float) else None for value in attribute_values)
    return L, M


def crossed(application: Application, L: Array | None, M: Array | None) -> bool:
    """Whether the lower bound is above the upper one.

    Raises:
        NoValue: a bound is not a single number (Clip.lower-bound-scalar, Clip.upper-bound-scalar), or the bounds are
            crossed in a version that does not say what that means (Clip.bounds-in-order).
    """
    for bound, which in ((L, "lower"), (M, "upper")):
        if bound is not None and bound.ndim:
            raise NoValue(f"Clip.{which}-bound-scalar", f"the {which} bound has the shape {list(bound.shape)}")
    flag = L is not None and M is not None and bool(L > M)
    if flag and application.version < CROSSED_SINCE:
        raise NoValue("Clip.bounds-in-order", f"the bounds {L} and {M} are crossed")
    return flag


def clip_kernel(application: Application) -> Kernel:
    """The elements, brought between the bounds."""

    def clip(inputs: Sequence[Any], out: Array) -> Array:
        L, M = bounds(application, inputs)
        if crossed(application, L, M) and M is not None:
            np.copyto(out, M)
        else:
            clip_into(inputs[0], L, M, out, application.block(BLOCK_ELEMENTS))
        return out

    return clip


_WIDE = Scratch()


def leaky_relu(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X, alpha = inputs[0], to_mpfr(application.names["alpha"])

    def product(x: Any, once: Any) -> Any:
        return once.mul(alpha, x)

    return (np.where(np.less(X, 0), each(product, X), X),)


def leaky_relu_kernel(application: Application) -> Kernel:
    """The product with alpha, rounded once, where an element is negative.

    alpha has 24 digits, so its product with a float, float16 or bfloat16 is exact in float64; for double the product of
    the processor is rounded once.  For 0 < alpha <= 1 the product, rounded or not, is not below a negative element and
    not above another one, and a zero or a NaN is that of the element: then the larger of both is the value.
    """
    alpha = np.float64(application.names["alpha"])

    def leaky_relu(inputs: Sequence[Any], out: Array) -> Array:
        larger = 0 < alpha <= 1 and out.itemsize > 2 and maximum_keeps_the_first_nan(out.dtype)
        X, flat = np.ascontiguousarray(inputs[0]).reshape(-1), out.reshape(-1)
        block = application.block(BLOCK_ELEMENTS)
        for start in range(0, flat.size, block):
            x, y = X[start : start + block], flat[start : start + block]
            if larger:
                wide = _WIDE.array(x.size, DOUBLE)
                np.multiply(x, alpha, out=wide)
                np.copyto(y, wide, casting="same_kind")
                np.maximum(x, y, out=y)
                continue
            product = narrow(x.astype(np.float64) * alpha, y.dtype)
            canonicalize_nans(product)
            np.copyto(y, x)
            np.copyto(y, product, where=x < 0)
        return out

    return leaky_relu


OPERATORS = (
    Operator(
        name="Clip",
        elementwise=True,
        continuous=True,
        monotone="increasing",
        define=clipped,
        kernel=clip_kernel,
        bound=rectifiers.clip,
    ),
    Operator(
        name="LeakyRelu",
        elementwise=True,
        continuous=True,
        define=leaky_relu,
        kernel=leaky_relu_kernel,
        bound=rectifiers.leaky_relu,
    ),
)
