"""Mod: C[i] = the remainder of A[i] divided by B[i].

ONNX Mod-10 to Mod-28.  fmod = 0: A - floor(A / B) * B, which has the sign of the divisor, rounded once; before version
28 of integers only.  fmod = 1: A - trunc(A / B) * B with the sign of the dividend, exactly.  Of floats x and y: NaN for
an infinite x and for y = 0; x for an infinite y (fmod = 0: y where the signs differ).  No text gives a remainder of
integers by 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.broadcasting import broadcast
from sonnx.numerics.correctly_rounded import ZERO, is_negative
from sonnx.numerics.elementwise import each
from sonnx.numerics.enclosures import steps
from sonnx.numerics.formats import Array, format_of
from sonnx.operators.operator import Operator

FLOATS_SINCE = 28
"""The version from which fmod = 0 has a meaning for floats."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape and the type of A and B.

    Raises:
        NotExecutable: no text gives a remainder.
    """
    A, B = broadcast(application.operator, *inputs)
    truncated = application.attribute("fmod", 0)
    floats = format_of(A.dtype) is not None
    if truncated not in (0, 1) or (truncated == 0 and floats and application.version < FLOATS_SINCE):
        raise NotExecutable(f"fmod is {truncated}, which has no meaning for {A.dtype.name}")
    if not floats and not np.all(B):
        raise NotExecutable("an element of B is 0, and no text gives a remainder by it")
    return (each(fmod if truncated else mod, A, B),)


def mod(a: Any, b: Any, once: Any = None) -> Any:
    """The remainder with the sign of b."""
    if once is None:
        return a % b
    rest = once.fmod(a, b)
    if rest == 0:
        return -ZERO if is_negative(b) else ZERO
    return once.add(rest, b) if (rest < 0) != (b < 0) else rest


def fmod(a: Any, b: Any, once: Any = None) -> Any:
    """The remainder with the sign of a."""
    if once is not None:
        return once.fmod(a, b)
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


OPERATOR = Operator(name="Mod", define=define, bound=steps.mod)
