"""Sum, fast: two addends as Add; more of them in float64, where the sum of n floats loses at most n roundings.

The error of a sum in any order is at most (n - 1) * u * (the sum of the magnitudes), u = 2^-53 with a margin for terms
in u^2 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from sonnx.semantics.add import add
from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each
from sonnx.semantics.formats import ELEMENTS, Array
from sonnx.semantics.kernels.blocks import merged, operands, walk
from sonnx.semantics.kernels.certified import decided
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic
from sonnx.semantics.kernels.settling import BLOCK, one_nan
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
        addends = [piece_.astype(np.float64) for piece_ in pieces]
        approximation = reduce(np.add, addends)
        magnitude = reduce(np.add, map(np.abs, addends))
        piece[...], undecided = decided(approximation, magnitude * (len(addends) * 2.0**-53), piece.dtype)
        zero = magnitude == 0  # the sign is that of the addends, which the exact path knows
        undecided |= zero
        if undecided.any():
            piece[undecided] = each(total, *[each_[undecided] for each_ in pieces], kind=piece.dtype)
            count += int(np.count_nonzero(undecided & ~zero))
    return count
