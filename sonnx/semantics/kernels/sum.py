"""Sum, fast: two addends as Add; more of them in float64 by `totals.py`, which keeps what each addition cuts off.

Mostly nothing is cut off, and then the sum is rounded once, its halfway cases too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.add import add
from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import ELEMENTS, Array
from sonnx.semantics.kernels.blocks import merged, operands, walk
from sonnx.semantics.kernels.certified import UNIT, decided, nearest
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic
from sonnx.semantics.kernels.settling import BLOCK, one_nan
from sonnx.semantics.kernels.totals import total_of
from sonnx.semantics.sum import total

TWO = 2


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    plus = arithmetic(application, add, np.add)

    def sums(inputs: Sequence[Any], out: Array) -> Array:
        if len(inputs) == 1:
            np.copyto(out, inputs[0])
            one_nan(out)
        elif len(inputs) == TWO:
            plus(inputs, out)
        elif out.dtype == ELEMENTS["double"]:
            out[...] = each(total, *np.broadcast_arrays(*inputs))
            application.count(out.size, out.size)
        elif out.size:
            application.count(out.size, _many(inputs, out))
        return out

    return sums


def _many(inputs: Sequence[Array], out: Array) -> int:
    """The sum of three addends and more; how many elements took the exact path."""
    shape, Z = merged(inputs, out.shape)
    count = 0
    for pieces, piece in walk(operands(Z, shape, BLOCK), out.reshape(shape), BLOCK):
        made, cut, size = total_of(iter(pieces))
        if not size.any():
            piece[...] = nearest(made, piece.dtype)
            continue
        bound = np.abs(cut) + size * (2 * len(pieces) * UNIT)
        np.copyto(bound, 0, where=~np.isfinite(made))
        piece[...], undecided = decided(made, bound, piece.dtype)
        if undecided.any():
            piece[undecided] = each(total, *[each_[undecided] for each_ in pieces], kind=piece.dtype)
            count += int(np.count_nonzero(undecided))
    return count
