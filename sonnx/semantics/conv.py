"""Conv: Y[b, c, m, n] = sum over i, j, z of X[b, i, m s0 + j d0 - p0, n s1 + z d1 - p1] * W[c, i, j, z] + B[c].

SONNX Conv of 2026-08 (conv2.md), function; ONNX Conv-1 to Conv-22, for any number of spatial axes.  The channels i are
those of the group of c.  Padding enters the products as +0, gaps between the elements of a dilated kernel do not enter
(erratum conv-zero-times-infinity).  The exact sum with the bias is rounded once (erratum conv-float-accumulation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonnx.semantics import pooling
from sonnx.semantics.application import Application
from sonnx.semantics.formats import Array
from sonnx.semantics.sums import in_units_of_products, numbers, products, store, total
from sonnx.semantics.windows import Windows, windows

OPERATOR = "Conv"
written_out = pooling.written_out


def evaluate(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type of X."""
    X, W = inputs[:2]
    assert X is not None and W is not None  # noqa: S101  the count of inputs is checked before
    B = inputs[2] if len(inputs) > 2 else None
    slid, group = windows_of(application, X, W), application.names["group"]
    channels, kernels = W.shape[1], W.shape[0] // group
    weights = [numbers(w) for w in W]
    bias = None if B is None else [in_units_of_products(each, B.dtype) for each in numbers(B)]
    Y = np.empty((X.shape[0], W.shape[0], *slid.places), X.dtype)
    for b, g, *place in np.ndindex(X.shape[0], group, *slid.places):
        under = list(slid.under(place))
        patch = [
            0.0 if at is None else numbers(X[(b, i, *at)])[0]
            for i in range(g * channels, (g + 1) * channels)
            for at in under
        ]
        for c in range(g * kernels, (g + 1) * kernels):
            added = [] if bias is None else [bias[c]]
            store(Y, (b, c, *place), total([*products(patch, weights[c]), *added]), power=2)
    return (Y,)


def windows_of(application: Application, X: Array, W: Array) -> Windows:
    """The places of the kernels on the spatial axes of X."""
    names = application.names
    return windows(X.shape[2:], W.shape[2:], names["strides"], names["dilations"], names["pads"])
