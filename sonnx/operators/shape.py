"""Shape: Y = the extents of X on the axes from start to end.

SONNX Shape of 2026-08; ONNX Shape-1 to Shape-25.  Both are counted from the first axis and brought into [0, rX].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator

RANGE_SINCE = 15
"""The version from which start and end exist."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, int64, of rank 1."""
    shape, names = inputs[0].shape, application.names
    if application.version < RANGE_SINCE:
        return (np.array(shape, np.int64),)
    start, end = (_within(names[each], len(shape)) for each in ("start", "end"))
    return (np.array(shape[start:end], np.int64),)


def _within(axis: int, rank: int) -> int:
    """The axis counted from the first, brought into [0, rank]."""
    return min(max(axis + rank if axis < 0 else axis, 0), rank)


OPERATOR = Operator(name="Shape", exact=True, reads_shapes_only=True, define=define)
