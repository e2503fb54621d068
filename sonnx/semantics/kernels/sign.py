"""Sign, fast: numpy's operation, exact; NaN as every computed one."""

from __future__ import annotations

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels.elementwise import Kernel, of_numpy


def kernel(application: Application) -> Kernel:
    """See `sonnx.semantics.kernels`."""
    return of_numpy(sign)


def sign(x: Array, out: Array) -> None:
    """Numpy's sign, with +0 for both zeros."""
    np.sign(x, out=out)
    np.copyto(out, 0, where=out == 0)
