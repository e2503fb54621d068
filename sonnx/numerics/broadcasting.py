"""Broadcasting: by the rules of NumPy, and along an axis before operator set 7.

ONNX Add-1, Add-6 and the other operators of two tensors in these versions: with broadcast = 1 B has one element, or its
shape is the part of the shape of A that begins at axis, the last part where axis is not written; without it the shapes
are equal.  `Operator.axis_broadcasting` marks these operators; they get B with axes of extent 1 in place of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array

NUMPY_SINCE = 7
"""The operator set from which the broadcasting is that of NumPy."""

AXIS_ATTRIBUTES = {"axis": "int", "broadcast": "int"}


def broadcast(operator: str, *tensors: Array) -> list[Array]:
    """The tensors in their common shape, by the rules of NumPy.

    Raises:
        NotExecutable: they do not broadcast.
    """
    shape = common_shape(operator, [tensor.shape for tensor in tensors])
    return [np.broadcast_to(tensor, shape) for tensor in tensors]


def common_shape(operator: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape tensors of these shapes broadcast to.

    Raises:
        NotExecutable: they do not broadcast.
    """
    rank = max(map(len, shapes), default=0)
    columns = zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True)  # of any rank
    longer = [{extent for extent in column if extent != 1} for column in columns]
    if any(len(extents) > 1 for extents in longer):
        listed = ", ".join(str(list(fromkey)) for fromkey in dict.fromkeys(shapes))
        raise NotExecutable(f"the shapes {listed} are not broadcastable, as {operator} needs")
    return tuple(extents.pop() if extents else 1 for extents in longer)


def aligned(application: Application, inputs: Sequence[Array]) -> list[Array]:
    """A, and B in a shape that NumPy broadcasts to that of A."""
    A, B = inputs
    return [A, B.reshape(along_axis(application, A.shape, B.shape))]


def along_axis(application: Application, A: Sequence[int], B: Sequence[int]) -> tuple[int, ...]:
    """The shape of B along the axes of A; from operator set 7 on that of B.

    Raises:
        NotExecutable: the version does not broadcast these shapes.
    """
    broadcast, axis = application.parameter("broadcast"), application.parameter("axis")
    if application.version >= NUMPY_SINCE:
        if AXIS_ATTRIBUTES.keys() & application.attributes.keys():
            raise NotExecutable(f"{application.operator} has no attributes axis and broadcast from operator set 7 on")
        return tuple(B)
    shapes = f"{list(B)} to {list(A)}"
    if broadcast not in (0, 1):
        raise NotExecutable(f"broadcast is {broadcast}, and no text says what a number but 0 and 1 means")
    if not broadcast and tuple(A) != tuple(B):
        raise NotExecutable(
            f"without broadcast = 1 {application.operator}-{application.version} does not bring {shapes}"
        )
    if broadcast and prod(B) == 1 and len(B) <= len(A):
        return (1,) * len(A)
    first = len(A) - len(B) if axis is None else axis
    if first < 0 or tuple(A[first : first + len(B)]) != tuple(B):
        from_ = "at the end" if axis is None else f"at axis {axis}"
        raise NotExecutable(f"{application.operator}-{application.version} does not broadcast {shapes} {from_}")
    return (*B, *[1] * (len(A) - first - len(B)))
