"""Clip: Y[i] = L if X[i] < L, M if X[i] > M, else X[i]; M wherever L > M.

SONNX Clip of 2026-08; ONNX Clip-11 to Clip-13.  An absent bound, and one that is NaN, is none (erratum
clip-bound-not-a-number).  Where the bounds are crossed every element becomes M, NaN too (erratum
clip-not-a-number-and-crossed-bounds).  Elements and bounds are copied bit for bit; both zeros are equal, so that a
zero within the bounds stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics.application import Application, NoValue
from sonnx.semantics.formats import Array

OPERATOR = "Clip"


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    X, L, M = (*inputs, None, None)[:3]
    assert X is not None  # noqa: S101  a required input
    bounds_crossed, Y = crossed(L, M), X
    if L is not None:
        Y = np.where(X < L, L, Y)
    if M is not None:
        Y = np.where(X > M, M, Y)
    if bounds_crossed:
        Y = np.broadcast_to(M, X.shape)  # type: ignore[arg-type]
    return (Y,)


def crossed(L: Array | None, M: Array | None) -> bool:
    """Whether the lower bound is above the upper one.

    Raises:
        NoValue: a bound is no single number (Clip.lower-bound-scalar, Clip.upper-bound-scalar).
    """
    for bound, which in ((L, "lower"), (M, "upper")):
        if bound is not None and bound.ndim:
            raise NoValue(f"Clip.{which}-bound-scalar", f"the {which} bound has the shape {list(bound.shape)}")
    return L is not None and M is not None and bool(L > M)
