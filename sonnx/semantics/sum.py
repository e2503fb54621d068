"""Sum: Y[i] = the sum of the elements at i, after broadcasting, rounded once.

ONNX Sum-1 to Sum-13.  The text names no rounding between the addends, so the exact sum is rounded; an exact zero is
+0, but -0 where every addend is -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast, each, floats_alike
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import certain
from sonnx.stops import NotExecutable

OPERATOR = "Sum"
INPUTS = (1, 2**31 - 1)

BROADCASTS_SINCE = 8
"""The operator set before which all shapes are equal."""


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the broadcast shape and the type of the inputs.

    Raises:
        NotExecutable: the shapes differ, before version 8.
    """
    shapes = list(dict.fromkeys(tuple(shape) for shape, _ in inputs))
    if application.version < BROADCASTS_SINCE and len(shapes) > 1:
        raise NotExecutable(f"the shapes {', '.join(str(list(each)) for each in shapes)} differ, before operator set 8")
    return floats_alike(application, inputs)


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of the inputs."""
    return (each(total, *broadcast(OPERATOR, *inputs)),)


def total(*row: Any) -> Any:
    """The sum of all but the last, which rounds."""
    *addends, once = row
    return certain(once, lambda down, up: (reduce(down.add, addends), reduce(up.add, addends)))
