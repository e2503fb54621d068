"""Sum: Y[i] = the sum of the elements at i, after broadcasting, rounded once.

ONNX Sum-1 to Sum-13.  The text names no rounding between the addends, so the exact sum is rounded; an exact zero is
+0, but -0 where every addend is -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.blocks import merged, operands, walk
from sonnx.numerics.certified_rounding import BLOCK, UNIT, decided, nearest, one_nan
from sonnx.numerics.correctly_rounded import certain
from sonnx.numerics.elementwise import broadcast, each, floats_alike
from sonnx.numerics.elementwise_kernels import Kernel, arithmetic
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.summation import total_of
from sonnx.operators.add import add

OPERATOR = "Sum"
INPUTS = (1, 2**31 - 1)

BROADCASTS_SINCE = 8
"""The operator set before which all shapes are equal."""


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the broadcast shape and the type of the inputs.

    Raises:
        NotExecutable: the shapes differ, before version 8.
    """
    shapes = list(dict.fromkeys(tuple(shape) for shape, _ in inputs))
    if application.version < BROADCASTS_SINCE and len(shapes) > 1:
        raise NotExecutable(f"the shapes {', '.join(str(list(each)) for each in shapes)} differ, before operator set 8")
    return floats_alike(application, inputs)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of the inputs."""
    return (each(total, *broadcast(OPERATOR, *inputs)),)


def total(*row: Any) -> Any:
    """The sum of all but the last, which rounds."""
    *addends, once = row
    return certain(once, lambda down, up: (reduce(down.add, addends), reduce(up.add, addends)))


# ------------------------------------------------------------------
# Sum, fast: two addends as Add; more of them in float64 by `totals.py`, which keeps what each addition cuts off.
#
# Mostly nothing is cut off, and then the sum is rounded once, its halfway cases too.


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
