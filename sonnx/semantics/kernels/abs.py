"""Abs, fast: numpy's operation, exact; NaN as every computed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.abs import require_absolute_values
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, of_numpy


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    absolute = of_numpy(np.abs)

    def checked(inputs: Sequence[Any], out: Array) -> Array:
        require_absolute_values(inputs[0])
        return absolute(inputs, out)

    return checked
