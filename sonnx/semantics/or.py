"""Or: C[i] = A[i] or B[i].

ONNX Or-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics import alignment
from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import broadcast, each, truths
from sonnx.semantics.formats import Array

OPERATOR = "Or"
ALONG_AXIS = True
INPUTS = 2
ATTRIBUTES = alignment.ATTRIBUTES
outputs = truths


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """C, of the broadcast shape."""
    A, B = broadcast(OPERATOR, *inputs)
    return (each(either, A, B),)


def either(a: Any, b: Any, once: Any = None) -> Any:
    """A or b."""
    return a or b
