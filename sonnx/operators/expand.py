"""Expand: output[i] = input[j], both broadcast to one shape.

ONNX Expand-8 to Expand-13.  The shape is broadcast with that of the input, as in multidirectional broadcasting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.broadcasting import common_shape
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of input.

    Raises:
        NotExecutable: the shapes are not broadcastable.
    """
    wanted = tuple(integer_list(inputs[1], "shape"))
    if min(wanted, default=0) < 0:
        raise NotExecutable(f"the shape {list(wanted)} has a negative extent")
    return (np.broadcast_to(inputs[0], common_shape(application.operator, [inputs[0].shape, wanted])),)


OPERATOR = Operator(name="Expand", exact=True, define=define, bound=layout.moving(define))
