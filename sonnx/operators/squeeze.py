"""Squeeze: the input without the named axes, each of extent 1.

ONNX Squeeze-1 to Squeeze-25.  The axes stand in the attribute (before version 13) or in the second input; without them
every axis of extent 1 goes.
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


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """squeezed, of the type of data.

    Raises:
        NotExecutable: data does not have a named axis, or it is named twice or has another extent than 1.
    """
    data, given = (*inputs, None)[:2]
    assert data is not None  # noqa: S101  a required input
    stated = integer_list(given, "axes") if given is not None else application.attribute("axes", None)
    if stated is None:
        return (np.squeeze(data),)
    inside = [axis for axis in stated if -data.ndim <= axis < data.ndim]
    named = {axis % data.ndim for axis in inside}
    if len(named) != len(stated) or any(data.shape[axis] != 1 for axis in named):
        raise NotExecutable(
            f"the axes {list(stated)} are not different axes of extent 1 of the shape {list(data.shape)}"
        )
    return (np.squeeze(data, tuple(named)),)


OPERATOR = Operator(name="Squeeze", exact=True, define=define, bound=layout.moving(define, one_to_one=True))
