"""Identity: output = input.

ONNX Identity-1 to Identity-25, on tensors.  Every bit pattern stays, signalling NaNs included.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.numerics.application import Application
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """The input itself."""
    return (inputs[0],)


OPERATOR = Operator(
    name="Identity", exact=True, define=define, passes_input_on=True,
    bound=layout.moving(define, one_to_one=True),
)  # fmt: skip
