"""GlobalMaxPool, fast: the maximum of ReduceMax along the spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.globalmaxpool import spatial_axes
from sonnx.semantics.kernels.reducemax import reduce_into


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def global_max_pool(inputs: Sequence[Array], out: Array) -> Array:
        reduce_into(inputs[0], spatial_axes(inputs[0]), out)
        return out

    return global_max_pool
