"""HardSwish, fast: x * min(max(x + 3, 0) / 6, 1) in the wider type, every rounding relative."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.hardswish import HIGH, hard_swish
from sonnx.semantics.kernels.elementwise import Kernel, function
from sonnx.semantics.kernels.settling import Bound

BOUND = Bound(2.0**-46)
"""Three roundings are 3 units of 2^-53; in long double, where this becomes 2^-60, 3 of 2^-64."""


def approximate(x: Array, out: Array) -> None:
    """X * max(0, min(1, x / 6 + 1 / 2))."""
    factor = np.minimum(np.maximum(x + HIGH, 0) / 6, 1)
    np.multiply(x, factor, out=out)


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return function(application, hard_swish, approximate, BOUND)
