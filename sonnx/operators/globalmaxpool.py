"""GlobalMaxPool: Y[b, c, 0, ..] = the maximum of all elements of X[b, c], in the order of Max.

ONNX GlobalMaxPool-1 and GlobalMaxPool-22.  Of several NaNs the first in row-major order is the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, TensorSpec
from sonnx.operators.operator import Operator
from sonnx.operators.reducemax import reduce_into, reduce_max
from sonnx.operators.stated_signature import StatedSignature


def output_specs(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """Y, of the type of X."""
    shape, kind = inputs[0]
    return (((*shape[:2], *[1] * (len(shape) - 2)), kind),)


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    gone = spatial_axes(inputs[0])
    return (np.expand_dims(reduce_max(inputs[0], gone), gone),)


def spatial_axes(X: Array) -> tuple[int, ...]:
    """The axes of X after batch and channel.

    Raises:
        NotExecutable: they hold no element, or there are none.
    """
    if X.ndim < 2 or 0 in X.shape[2:]:
        raise NotExecutable(f"a tensor of shape {X.shape} has no element on its spatial axes, or none of them")
    return tuple(range(2, X.ndim))


def kernel(application: Application) -> Kernel:
    """The maximum of ReduceMax along the spatial axes."""

    def global_max_pool(inputs: Sequence[Array], out: Array) -> Array:
        reduce_into(inputs[0], spatial_axes(inputs[0]), out, application.block)
        return out

    return global_max_pool


OPERATOR = Operator(
    name="GlobalMaxPool",
    define=define,
    kernel=kernel,
    signature=StatedSignature(inputs=(1, 1), output_specs=output_specs),
    selects=True,
    continuous=True,
    versions=(1, 22),
    changes=(1,),
    output_element="first",
    bound=selection.global_max_pool,
)
