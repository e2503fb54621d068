"""Cast, fast: numpy's conversions where they are the one rounding, the truncation or the remainder that is meant.

Integers become float or double in one rounding of the processor; integers of more digits than float has reach the
types of 16 bits by the definition.  From double to a narrower type: see `rounding.narrow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.cast import evaluate, require_range, wanted
from sonnx.semantics.formats import ELEMENTS, Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel, one_nan_in_blocks
from sonnx.semantics.rounding import narrow


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    kind = wanted(application)

    def cast(inputs: Sequence[Any], out: Array) -> Array:
        X = inputs[0]
        if kind == np.bool_:
            np.not_equal(X, np.zeros((), X.dtype), out=out)
        elif format_of(kind) is None:
            _to_integers(X, out)
        elif format_of(X.dtype) is None and kind.itemsize > 2:
            np.copyto(out, X, casting="unsafe")
        elif X.dtype in (ELEMENTS["int64"], ELEMENTS["uint64"]):
            np.copyto(out, evaluate(application, inputs)[0])
        else:
            np.copyto(out, narrow(X.astype(np.float64), kind))  # exact in float64 before
            one_nan_in_blocks(out)
        return out

    return cast


def _to_integers(X: Array, out: Array) -> None:
    if format_of(X.dtype) is None:
        np.copyto(out, X, casting="unsafe")
    else:
        require_range(X, out.dtype)
        np.copyto(out, np.trunc(X.astype(np.float64)), casting="unsafe")
