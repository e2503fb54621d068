"""Split: the pieces of the input along the axis, one after the other.

ONNX Split-1 to Split-18.  The extents of the pieces stand in the attribute `split` (before version 13) or in the second
input; without them the pieces are equal, from version 18 on the last one smaller where they cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

SMALLER_LAST_SINCE = 18


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """The pieces, of the type of input.

    Raises:
        NotExecutable: the input does not have the axis, or the extents do not add up to it.
    """
    data, given = (*inputs, None)[:2]
    assert data is not None  # noqa: S101  a required input
    axis = application.attribute("axis", 0)
    if not -data.ndim <= axis < data.ndim:
        raise NotExecutable(f"a tensor of rank {data.ndim} has no axis {axis}")
    stated = integer_list(given, "split") if given is not None else application.attribute("split", None)
    extents = list(stated) if stated is not None else _equal(application, data.shape[axis])
    if len(extents) != application.outputs or min(extents) < 0 or sum(extents) != data.shape[axis]:
        text = f"{application.outputs} outputs of extents {extents}, from an axis of extent {data.shape[axis]}"
        raise NotExecutable(text)
    return tuple(np.split(data, np.cumsum(extents)[:-1], axis))


def _equal(application: Application, extent: int) -> list[int]:
    count = application.attribute("num_outputs", application.outputs)
    if application.version < SMALLER_LAST_SINCE:
        return [extent // count] * count
    piece = -(-extent // count)
    return [*([piece] * (count - 1)), extent - piece * (count - 1)]


OPERATOR = Operator(name="Split", exact=True, define=define, bound=layout.moving(define))
