"""Div, fast: one operation of the processor; for integers the quotient rounded down, one more where signs differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.div import div, require_quotients
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel, arithmetic


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    divide = arithmetic(application, div, np.divide)

    def quotient(inputs: Sequence[Any], out: Array) -> Array:
        if format_of(out.dtype) is not None:
            return divide(inputs, out)
        A, B = np.broadcast_arrays(*inputs)
        require_quotients(A, B)
        np.floor_divide(A, B, out=out)
        if out.dtype.kind == "i":
            np.add(out, 1, out=out, where=((A < 0) != (B < 0)) & (out * B != A))
        return out

    return quotient
