"""Pow, fast: numpy's function of the wider type; integers by the definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array, format_of
from sonnx.semantics.kernels.elementwise import Kernel, function_of_two
from sonnx.semantics.pow import evaluate, power


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    approximated = function_of_two(application, power, np.power)

    def powers(inputs: Sequence[Any], out: Array) -> Array:
        if format_of(out.dtype) is not None:
            return approximated(inputs, out)
        np.copyto(out, evaluate(application, inputs)[0])
        return out

    return powers
