"""Squeeze: the input without the named axes, each of extent 1.

ONNX Squeeze-1 to Squeeze-25.  The axes stand in the attribute (before version 13) or in the second input; without them
every axis of extent 1 goes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.elementwise import whole_list
from sonnx.numerics.formats import Array

OPERATOR = "Squeeze"
INPUTS = (1, 2)
ATTRIBUTES = {"axes": "ints"}


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """squeezed, of the type of data.

    Raises:
        NotExecutable: a named axis is none of data, is named twice or has not extent 1.
    """
    data, given = (*inputs, None)[:2]
    assert data is not None  # noqa: S101  a required input
    stated = whole_list(given, "axes") if given is not None else application.attribute("axes", None)
    if stated is None:
        return (np.squeeze(data),)
    inside = [axis for axis in stated if -data.ndim <= axis < data.ndim]
    named = {axis % data.ndim for axis in inside}
    if len(named) != len(stated) or any(data.shape[axis] != 1 for axis in named):
        raise NotExecutable(f"the axes {list(stated)} are no axes of extent 1 of the shape {list(data.shape)}")
    return (np.squeeze(data, tuple(named)),)
