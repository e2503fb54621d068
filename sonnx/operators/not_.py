"""Not: Y[i] = not X[i].

ONNX Not-1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.numerics.application import Application
from sonnx.numerics.elementwise_kernels import numpy_kernel
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, bool, of the shape of X."""
    return (np.logical_not(inputs[0]),)


OPERATOR = Operator(name="Not", define=define, kernel=numpy_kernel(np.logical_not), bound=selection.negation)
