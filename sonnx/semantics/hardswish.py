"""HardSwish: Y[i] = X[i] * max(0, min(1, X[i] / 6 + 1/2)) over the reals, rounded once.

ONNX HardSwish-14 to HardSwish-22: alpha is 1/6 and beta 1/2, exactly.  Where the second factor is 0 the product is
that of IEEE 754: -0 for numbers up to -3, NaN for -Inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonnx.semantics.application import Application
from sonnx.semantics.elementwise import each, floats_alike
from sonnx.semantics.formats import Array
from sonnx.semantics.reals import NAN, ZERO, certain, is_infinite, is_zero

OPERATOR = "HardSwish"
INPUTS = 1
outputs = floats_alike

LOW, HIGH = -3, 3
"""Where the second factor becomes 0 and 1."""


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(hard_swish, inputs[0]),)


def hard_swish(x: Any, once: Any) -> Any:
    """X * (x + 3) / 6 between -3 and 3, -0 below, x above."""
    if x <= LOW:
        return NAN if is_infinite(x) else -ZERO
    if x >= HIGH or is_zero(x) or x != x:
        return x
    sign = -1 if x < 0 else 1
    return sign * certain(
        once,
        lambda down, up: (
            down.div(down.mul(abs(x), down.add(x, HIGH)), 6),
            up.div(up.mul(abs(x), up.add(x, HIGH)), 6),
        ),
    )
