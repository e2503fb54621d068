"""ConvTranspose: Y[b, c, o] = B[c] + the sum of X[b, i, m] * W[i, c, k] over all i, m and k with o = m s + k d - p.

ONNX ConvTranspose-1 to ConvTranspose-22, for any number of spatial axes; i runs over the channels of the group of c.
The extent of an axis is s (extent - 1) + output_padding + d (kernel - 1) + 1 - both pads, or output_shape, from which
the padding follows.  The exact sum is rounded once; where nothing is added it is +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.sums import Number, in_units_of_products, numbers, store, times, total
from sonnx.stops import NotExecutable
from sonnx.words import window

OPERATOR = "ConvTranspose"
INPUTS = (2, 3)
ATTRIBUTES = {
    "auto_pad": "string",
    "dilations": "ints",
    "group": "int",
    "kernel_shape": "ints",
    "output_padding": "ints",
    "output_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}


def outputs(application: Application, inputs: Sequence[Any]) -> tuple[Any]:
    """Y, of the type of X."""
    (shape, kind), (weights, _) = inputs[:2]
    extents, _ = places(application, shape, weights)
    return (((shape[0], weights[1] * application.attribute("group", 1), *extents), kind),)


def places(application: Application, shape: Sequence[int], weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """The extents of Y on the spatial axes, and the padding at their beginnings.

    Raises:
        NotExecutable: the attributes or shapes do not fit.
    """
    axes, group = len(shape) - 2, application.attribute("group", 1)
    lists = {"strides": [1] * axes, "dilations": [1] * axes, "output_padding": [0] * axes, "pads": [0] * 2 * axes}
    strides, dilations, more, pads = (application.attribute(name, absent) for name, absent in lists.items())
    kernel = list(weights[2:])
    if (
        axes < 1
        or {len(weights), len(strides) + 2, len(dilations) + 2, len(more) + 2, len(pads) // 2 + 2} != {axes + 2}
        or list(application.attribute("kernel_shape", kernel)) != kernel
        or min((*strides, *dilations, *kernel, group)) < 1
        or shape[1] != weights[0]
        or shape[1] % group
    ):
        raise NotExecutable(f"the attributes do not fit an X of shape {list(shape)} and a W of shape {list(weights)}")
    whole = [
        s * (extent - 1) + out + window(size, d)
        for s, extent, out, size, d in zip(strides, shape[2:], more, kernel, dilations, strict=True)
    ]
    wanted, how = application.attribute("output_shape", None), application.attribute("auto_pad", "NOTSET")
    if wanted is not None or how.startswith("SAME"):
        extents = wanted or [extent * s for extent, s in zip(shape[2:], strides, strict=True)]
        cut = [max(0, each - extent) for each, extent in zip(whole, extents, strict=True)]
        return list(extents), [each // 2 if how != "SAME_LOWER" else each - each // 2 for each in cut]
    pads = [0] * 2 * axes if how == "VALID" else pads
    return [each - pads[d] - pads[axes + d] for d, each in enumerate(whole)], list(pads[:axes])


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type of X."""
    X, W, B = (*inputs, None)[:3]
    assert X is not None and W is not None  # noqa: S101  the count of inputs is checked before
    extents, begins = places(application, X.shape, W.shape)
    group, axes = application.attribute("group", 1), X.ndim - 2
    strides, dilations = (application.attribute(name, [1] * axes) for name in ("strides", "dilations"))
    channels, kernels = X.shape[1] // group, W.shape[1]
    Y = np.empty((X.shape[0], kernels * group, *extents), X.dtype)
    addends: dict[tuple[int, ...], list[Number]] = {at: [] for at in np.ndindex(Y.shape)}
    x, w = np.array(numbers(X), object).reshape(X.shape), np.array(numbers(W), object).reshape(W.shape)
    for b, i, *m in np.ndindex(X.shape):
        first = i // channels * kernels
        for c, *k in np.ndindex(W.shape[1:]):
            at = tuple(m[d] * strides[d] + k[d] * dilations[d] - begins[d] for d in range(axes))
            if (b, first + c, *at) in addends:
                addends[(b, first + c, *at)].append(times(x[(b, i, *m)], w[(i, c, *k)]))
    bias = None if B is None else [in_units_of_products(each, B.dtype) for each in numbers(B)]
    for at, own in addends.items():
        store(Y, at, total(own if bias is None else [*own, bias[at[1]]]), power=2)
    return (Y,)
