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
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.blocks import BLOCK_ELEMENTS, block_pieces, merged
from sonnx.numerics.certified_rounding import UNIT, certify
from sonnx.numerics.correctly_rounded import round_enclosed
from sonnx.numerics.elementwise import each, elementwise_definition
from sonnx.numerics.elementwise_kernels import arithmetic
from sonnx.numerics.enclosures.sums import add as bound
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.rounding import canonicalize_nans, to_nearest
from sonnx.numerics.summation import total_of
from sonnx.operators.arithmetic import add
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import UNBOUNDED, StatedSignature, same_floats

BROADCASTS_SINCE = 8
"""The operator set before which all shapes are equal."""


def output_specs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the broadcast shape and the type of the inputs.

    Raises:
        NotExecutable: the shapes differ, before version 8.
    """
    shapes = list(dict.fromkeys(tuple(shape) for shape, _ in inputs))
    if application.version < BROADCASTS_SINCE and len(shapes) > 1:
        raise NotExecutable(
            f"the shapes {', '.join(str(list(shape)) for shape in shapes)} differ, before operator set 8"
        )
    return same_floats(application, inputs)


def rounded_sum(*row: Any) -> Any:
    """The sum of all but the last, which rounds.

    Raises:
        NotExecutable: they are integers.
    """
    *addends, once = row
    if isinstance(once, int):
        raise NotExecutable("no text gives the sum of integers")
    return round_enclosed(once, lambda down, up: (reduce(down.add, addends), reduce(up.add, addends)))


def kernel(application: Application) -> Kernel:
    """Two addends as Add; more of them in float64 with what each addition cuts off (`summation.py`).

    Mostly nothing is cut off, and then the sum is rounded once, its halfway cases too.
    """
    plus = arithmetic(add, np.add)(application)

    def sums(inputs: Sequence[Any], out: Array) -> Array:
        if len(inputs) == 1:
            np.copyto(out, inputs[0])
            canonicalize_nans(out)
        elif len(inputs) == 2:
            plus(inputs, out)
        elif out.dtype == ELEMENTS["double"]:
            out[...] = each(rounded_sum, *np.broadcast_arrays(*inputs))
            application.count(out.size, out.size)
        elif out.size:
            application.count(out.size, _many(inputs, out, application.block(BLOCK_ELEMENTS)))
        return out

    return sums


def _many(inputs: Sequence[Array], out: Array, block: int) -> int:
    """The sum of three addends and more; how many elements took the exact path."""
    shape, Z = merged(inputs, out.shape)
    count = 0
    for pieces, piece in block_pieces(Z, out.reshape(shape), block):
        array, cut, size = total_of(iter(pieces))
        if not size.any():
            piece[...] = to_nearest(array, piece.dtype)
            continue
        bound = np.abs(cut) + size * (2 * len(pieces) * UNIT)
        np.copyto(bound, 0, where=~np.isfinite(array))
        piece[...], undecided = certify(array, bound, piece.dtype)
        if undecided.any():
            piece[undecided] = each(rounded_sum, *[each_[undecided] for each_ in pieces], kind=piece.dtype)
            count += int(np.count_nonzero(undecided))
    return count


OPERATOR = Operator(
    name="Sum",
    elementwise=True,
    commutative=True,
    associative=True,
    continuous=True,
    versions=(1, 6, 8, 13),
    changes=(1,),
    output_element="first",
    define=elementwise_definition(rounded_sum),
    kernel=kernel,
    signature=StatedSignature(inputs=(1, UNBOUNDED), output_specs=output_specs),
    bound=bound,
)
