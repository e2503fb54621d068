"""Conv, fast: the patches of X under the kernel are the columns of a matrix, the kernels the rows of another.

A bias is one more column of the kernels over a row of ones.  Groups are a stack of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.conv import windows_of
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels import doubles
from sonnx.semantics.kernels.patches import Patches
from sonnx.semantics.kernels.products import Left, block_into


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def conv(inputs: Sequence[Array], out: Array) -> Array:
        X, W = inputs[:2]
        bias = inputs[2] if len(inputs) > 2 else None
        slid, group = windows_of(application, X, W), application.names["group"]
        application.count(out.size, convolution(X, W, bias, Patches(slid, X.shape[1], group, bias is not None), out))
        return out

    return conv


def convolution(X: Array, W: Array, bias: Array | None, patches: Patches, out: Array) -> int:
    """Y in `out`; how many elements were added up exactly."""
    if out.size == 0:
        return 0
    group = patches.group
    kernels = np.empty((group, len(W) // group, patches.height))
    kernels[:, :, : patches.height - patches.ones] = W.reshape(*kernels.shape[:2], -1)
    if bias is not None:
        kernels[:, :, -1] = bias.reshape(group, -1)
    target = out.reshape(len(X), *kernels.shape[:2], *out.shape[2:])
    left, exact = Left(kernels), 0
    for sample, made in zip(X, target, strict=True):
        for part, columns, norms in patches.blocks(sample):
            place = made[:, :, part]
            place = place.reshape(*kernels.shape[:2], columns.shape[2])
            if out.dtype == np.float64:
                exact += doubles.product_into(kernels, columns, place)
            else:
                exact += block_into(left, columns, place, norms)
    return exact
