"""ConstantOfShape: every element of the output is `value`.

ONNX ConstantOfShape-9 to ConstantOfShape-25.  The input holds the extents; without `value` it is 0, of type float.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.model.ir import Tensor
from sonnx.numerics.application import Application
from sonnx.numerics.constant_data import decode
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of `value`, as a view of one element.

    Raises:
        NotExecutable: an extent is negative, or `value` has not one element.
    """
    value = application.attribute("value", None)
    one = decode(value, None) if isinstance(value, Tensor) else np.zeros(1, np.float32)
    extents = integer_list(inputs[0], "input")
    if one.size != 1 or min(extents, default=0) < 0:
        raise NotExecutable(f"its extents are {extents} and its value has {one.size} elements")
    return (np.broadcast_to(one.reshape(()), extents),)


OPERATOR = Operator(name="ConstantOfShape", exact=True, define=define, precomputed=True)
