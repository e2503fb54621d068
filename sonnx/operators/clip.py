"""Clip: Y[i] = L if X[i] < L, M if X[i] > M, else X[i]; M wherever L > M.

SONNX Clip of 2026-08; ONNX Clip-1 to Clip-13.  Before version 11 the bounds are attributes; a number of float rounded
to the type of X bounds its elements as the number itself does.  A bound that is absent or NaN does not bound (erratum
clip-bound-not-a-number).  Where the bounds are crossed every element becomes M, NaN too (erratum
clip-not-a-number-and-crossed-bounds).  Elements and bounds are copied bit for bit; both zeros are equal, so that a
zero within the bounds stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.elementwise_kernels import clip_into
from sonnx.numerics.enclosures import rectifiers
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

INPUTS_SINCE, CROSSED_SINCE = 11, 13
"""The versions from which the bounds are inputs, and from which crossed bounds have a meaning."""


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X = inputs[0]
    assert X is not None  # noqa: S101  a required input
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
    X = inputs[0]
    assert X is not None  # noqa: S101  a required input
    if application.version >= INPUTS_SINCE:
        L, M = (*inputs[1:], None, None)[:2]
        return L, M
    made = [application.names[name] for name in ("min", "max")]
    with np.errstate(all="ignore"):
        L, M = (np.array(each).astype(X.dtype) if isinstance(each, float) else None for each in made)
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
    found = L is not None and M is not None and bool(L > M)
    if found and application.version < CROSSED_SINCE:
        raise NoValue("Clip.bounds-in-order", f"the bounds {L} and {M} are crossed")
    return found


def kernel(application: Application) -> Kernel:
    """The elements, brought between the bounds."""

    def clip(inputs: Sequence[Any], out: Array) -> Array:
        L, M = bounds(application, inputs)
        if crossed(application, L, M) and M is not None:
            np.copyto(out, M)
        else:
            clip_into(inputs[0], L, M, out)
        return out

    return clip


OPERATOR = Operator(name="Clip", define=define, kernel=kernel, bound=rectifiers.clip)
