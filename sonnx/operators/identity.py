"""Identity: output = input.

ONNX Identity-1 to Identity-25, on tensors.  Every bit pattern stays, signalling NaNs included.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array

OPERATOR = "Identity"

INPUTS = 1
SAME_VALUE = True
"""The output is the input: the executor gives both names one buffer."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The input itself."""
    return (inputs[0],)
