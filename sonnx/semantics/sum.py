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

OPERATOR = "Sum"
INPUTS = (1, 2**31 - 1)
outputs = floats_alike


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the broadcast shape and the type of the inputs."""
    return (each(total, *broadcast(OPERATOR, *inputs)),)


def total(*row: Any) -> Any:
    """The sum of all but the last, which rounds."""
    *addends, once = row
    return certain(once, lambda down, up: (reduce(down.add, addends), reduce(up.add, addends)))
