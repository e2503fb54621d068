"""Min, fast: the negative of the maximum of the negatives; for integers numpy's minimum.

The order of Max turned around is that of Min but for NaN, which both give; its sign is turned twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel
from sonnx.semantics.kernels.max import maximum


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""

    def minimum(inputs: Sequence[Any], out: Array) -> Array:
        made = format_of(out.dtype)
        if made is None:
            np.copyto(out, reduce(np.minimum, inputs))
            return out
        maximum([_turned(each, made.sign, made.unsigned) for each in inputs], out)
        np.copyto(out, _turned(out, made.sign, made.unsigned))
        return out

    return minimum


def _turned(values: Array, sign: int, unsigned: np.dtype[Any]) -> Array:
    """The values with the other sign, bit for bit."""
    turned: Array = (np.ascontiguousarray(values).view(unsigned) ^ unsigned.type(sign)).view(values.dtype)
    return turned.reshape(values.shape)
