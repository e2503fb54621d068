"""Range, fast: S + i D in float64, where the product is exact and the sum rounded once; integers modulo 2^n."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import ELEMENTS, Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.settling import BLOCK, Bound, settle
from sonnx.semantics.range import evaluate, item, parameters

BOUND = Bound(2.0**-52)

MOST = 1 << 29
"""Elements up to which i has the digits that float leaves of float64."""


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def ranged(inputs: Sequence[Any], out: Array) -> Array:
        S, _, D = parameters(inputs)
        if format_of(out.dtype) is None:
            np.multiply(np.arange(out.size).astype(out.dtype), inputs[2], out=out)
            np.add(out, inputs[0], out=out)
        elif out.dtype == ELEMENTS["double"] or out.size > MOST:
            np.copyto(out, evaluate(application, inputs)[0])
        else:
            application.count(out.size, _real(S, D, out))
        return out

    return ranged


def _real(S: Any, D: Any, out: Array) -> int:
    """The elements of floats; how many took the exact path."""
    count = 0
    for start in range(0, out.size, BLOCK):
        piece = out[start : start + BLOCK]
        y = np.arange(start, start + piece.size) * float(D) + float(S)
        undecided = settle(y, BOUND, piece)
        zero = y == 0  # its sign is a matter of the definition
        places = np.nonzero(zero if undecided is None else zero | undecided)[0]
        for i in places:
            piece[i] = item(start + int(i), S, D, out.dtype)
        count += len(places)
    return count
