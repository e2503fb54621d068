"""Equal: C[i] = (A[i] = B[i]).

ONNX Equal-1 to Equal-19.  NaN equals nothing, not itself; both zeros are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast, comparison, each
from sonnx.semantics.formats import Array

OPERATOR = "Equal"
ALONG_AXIS = True
INPUTS = 2
outputs = comparison


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(equal, A, B, kind=np.dtype(np.bool_)),)


def equal(a: Any, b: Any, once: Any = None) -> Any:
    """A = b."""
    return a == b
