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
    approximated = function_of_two(application, power, approximate)

    def powers(inputs: Sequence[Any], out: Array) -> Array:
        if format_of(out.dtype) is not None:
            return approximated(inputs, out)
        np.copyto(out, evaluate(application, inputs)[0])
        return out

    return powers


def approximate(x: Array, y: Array, out: Array) -> None:
    """x^y.  For a single exponent of 0.5 numpy takes the root, which is wrong for -0 and -Inf; so it gets two."""
    if x.size == 1:
        out[...] = np.power(np.repeat(x, 2), np.repeat(y, 2))[:1]
    else:
        np.power(x, y, out=out)
