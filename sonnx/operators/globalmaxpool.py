"""GlobalMaxPool: Y[b, c, 0, ..] = the maximum of all elements of X[b, c], in the order of Max.

ONNX GlobalMaxPool-1 and GlobalMaxPool-22.  Of several NaNs the first in row-major order is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array
from sonnx.operators.globalaveragepool import outputs
from sonnx.operators.reducemax import reduce_into, reduce_max

__all__ = ["ATTRIBUTES", "INPUTS", "OPERATOR", "evaluate", "outputs"]

OPERATOR = "GlobalMaxPool"
INPUTS = 1
ATTRIBUTES: dict[str, str] = {}


def evaluate(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    gone = spatial_axes(inputs[0])
    return (np.expand_dims(reduce_max(inputs[0], gone), gone),)


def spatial_axes(X: Array) -> tuple[int, ...]:
    """The axes of X after batch and channel.

    Raises:
        NotExecutable: they hold no element, so that there is no largest.
    """
    if X.ndim < 2 or 0 in X.shape[2:]:
        raise NotExecutable(f"a tensor of shape {X.shape} has no element on its spatial axes, or none of them")
    return tuple(range(2, X.ndim))


# ------------------------------------------------------------------
# GlobalMaxPool, fast: the maximum of ReduceMax along the spatial axes.


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def global_max_pool(inputs: Sequence[Array], out: Array) -> Array:
        reduce_into(inputs[0], spatial_axes(inputs[0]), out)
        return out

    return global_max_pool
