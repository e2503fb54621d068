"""Gather: output[.., j, ..] = data[.., indices[j], ..] along the axis.

ONNX Gather-1 to Gather-13.  From version 11 on a negative index counts from the end; an index outside the axis has no
element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, NoValue
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of data.

    Raises:
        NotExecutable: data does not have the axis.
        NoValue: an index lies outside the axis.
    """
    data, indices = inputs
    axis = application.attribute("axis", 0)
    if not -data.ndim <= axis < data.ndim:
        raise NotExecutable(f"a tensor of rank {data.ndim} has no axis {axis}")
    if indices.dtype.kind != "i":
        raise NotExecutable("the indices are not integers")
    extent = data.shape[axis]
    if np.any((indices < -extent) | (indices >= extent)):
        raise NoValue("Gather.indices-in-axis", f"an index lies outside [-{extent}, {extent - 1}]")
    return (np.asarray(np.take(data, indices, axis), data.dtype),)


OPERATOR = Operator(name="Gather", exact=True, define=define, bound=layout.moving(define))
