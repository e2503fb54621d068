"""Transpose: output[j] = data[i], j = i in the order of perm.

ONNX Transpose-1 to Transpose-25.  Without perm the axes are reversed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of data."""
    return (np.transpose(inputs[0], axes_in_order(application, inputs[0].ndim)),)


def axes_in_order(application: Application, rank: int) -> Sequence[int]:
    """The axes of data in the order of the output's.

    Raises:
        NotExecutable: perm does not name each axis once.
    """
    perm: Sequence[int] = application.attribute("perm", tuple(reversed(range(rank))))
    if sorted(perm) != list(range(rank)):
        raise NotExecutable(f"perm is {list(perm)}, which is not an order of {rank} axes")
    return perm


OPERATOR = Operator(
    name="Transpose",
    exact=True,
    define=define,
    kernel=copying_kernel(define),
    bound=layout.moving(define, one_to_one=True),
)
