"""Acos, fast: numpy's function of the wider type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.acos import acos, require_arguments
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, function


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    approximated = function(application, acos, np.arccos)

    def checked(inputs: Sequence[Any], out: Array) -> Array:
        require_arguments(inputs[0])
        return approximated(inputs, out)

    return checked
