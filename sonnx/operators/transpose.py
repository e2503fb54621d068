"""Transpose: output[j] = data[i], j = i in the order of perm.

ONNX Transpose-1 to Transpose-25.  Without perm the axes are reversed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array

OPERATOR = "Transpose"
INPUTS = 1
ATTRIBUTES = {"perm": "ints"}
COPIES = True


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """The extents of data in the order of perm."""
    shape, kind = inputs[0]
    return ((tuple([shape[axis] for axis in order(application, len(shape))]), kind),)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of data."""
    return (np.transpose(inputs[0], order(application, inputs[0].ndim)),)


def order(application: Application, rank: int) -> Sequence[int]:
    """The axes of data in the order of the output's.

    Raises:
        NotExecutable: perm does not name each axis once.
    """
    perm: Sequence[int] = application.attribute("perm", tuple(reversed(range(rank))))
    if sorted(perm) != list(range(rank)):
        raise NotExecutable(f"perm is {list(perm)}, no order of {rank} axes")
    return perm
