"""ConvInteger, fast: the patches of Conv less the zero point, in float64, and a matrix product exact below 2^53."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sonnx.semantics.application import Application
from sonnx.semantics.conv import windows_of
from sonnx.semantics.convinteger import operands
from sonnx.semantics.formats import Array
from sonnx.semantics.kernels import integers
from sonnx.semantics.kernels.patches import Patches


def kernel(application: Application) -> Callable[[Sequence[Array], Array], Array]:
    """See `sonnx.semantics.kernels`."""

    def conv_integer(inputs: Sequence[Array], out: Array) -> Array:
        X, W, x_zero_point, w_zero_point = operands(inputs)
        slid, group = windows_of(application, X, W), application.names["group"]
        patches = Patches(slid, X.shape[1], group, False)
        off = w_zero_point.reshape(-1, *[1] * (W.ndim - 1)).astype(np.int64)
        kernels = (W.astype(np.int64) - off).reshape(group, len(W) // group, -1)
        target = out.reshape(len(X), *kernels.shape[:2], *out.shape[2:])
        for sample, made in zip(X, target, strict=True):
            for part, columns, _ in patches.blocks(sample):
                np.subtract(columns, x_zero_point, out=columns)
                place = made[:, :, part]
                place = place.reshape(*kernels.shape[:2], columns.shape[2])
                integers.product_into(kernels, columns, place)
        return out

    return conv_integer
