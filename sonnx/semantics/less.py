"""Less: C[i] = A[i] < B[i].

SONNX Less of 2026-08; ONNX Less-1 to Less-13.  NaN is less than nothing and nothing is less than NaN; both zeros are
equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast, each
from sonnx.semantics.formats import Array

OPERATOR = "Less"
ALONG_AXIS = True


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(less, A, B, kind=np.dtype(np.bool_)),)


def less(a: Any, b: Any, once: Any = None) -> Any:
    """A < b."""
    return a < b
