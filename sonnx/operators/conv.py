"""Conv: Y[b, c, m, n] = sum over i, j, z of X[b, i, m s0 + j d0 - p0, n s1 + z d1 - p1] * W[c, i, j, z] + B[c].

SONNX Conv of 2026-08 (conv2.md), function; ONNX Conv-1 to Conv-22, for any number of spatial axes.  The channels i are
those of the group of c.  Padding enters the products as +0; so do the gaps between the elements of a dilated kernel by
the SONNX text, which calls them elements of value 0, and not by that of ONNX (erratum conv-zero-times-infinity).  The
exact sum with the bias is rounded once (erratum conv-float-accumulation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx.numerics import double_products
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.enclosures.products import conv as bound
from sonnx.numerics.exact_sums import in_units_of_products, numbers, products, store, total
from sonnx.numerics.formats import Array
from sonnx.numerics.patches import WindowPatches
from sonnx.numerics.single_products import Left, Right, open_block, settled
from sonnx.numerics.windows import Windows, explicit_padding, windows
from sonnx.operators.operator import Operator

NO_PROFILE = "onnx"
"""The text where no SONNX text applies."""

DOUBLE = np.dtype(np.float64)


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type of X."""
    (X, W), [B] = required(inputs, 2), optional(inputs, 2)
    W, slid = without_gaps(application, X, W)
    group = application.names["group"]
    channels, kernels = W.shape[1], W.shape[0] // group
    weights = [numbers(w) for w in W]
    bias = None if B is None else [in_units_of_products(number, B.dtype) for number in numbers(B)]
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


def windows_of(application: Application, X: Any, W: Any) -> Windows:
    """The places of the kernels on the spatial axes of X."""
    names = application.names
    return windows(X.shape[2:], W.shape[2:], names["strides"], names["dilations"], names["pads"])


def without_gaps(application: Application, X: Array, W: Array) -> tuple[Array, Windows]:
    """W with zeros in its gaps, where the text has them, and its places."""
    dilations = application.names["dilations"]
    if application.text == NO_PROFILE or set(dilations) <= {1}:
        return W, windows_of(application, X, W)
    extents = [(size - 1) * dilation + 1 for size, dilation in zip(W.shape[2:], dilations, strict=True)]
    array = np.zeros((*W.shape[:2], *extents), W.dtype)
    array[(slice(None), slice(None), *[slice(None, None, dilation) for dilation in dilations])] = W
    strides, pads = application.names["strides"], application.names["pads"]
    return array, windows(X.shape[2:], extents, strides, [1] * len(extents), pads)


def kernel(application: Application) -> Kernel:
    """A matrix product: the rows are the kernels, the columns the patches of X under them.

    Groups are a stack of matrices.  Gaps change a value where an infinity or NaN lies under one, and the sign of a
    zero; then they are filled.
    """

    def conv(inputs: Sequence[Array], out: Array) -> Array:
        (X, W), [bias] = required(inputs, 2), optional(inputs, 2)
        group = application.names["group"]

        def patches(slid: Windows) -> WindowPatches:
            return WindowPatches(slid, X.shape[1], group, len(W), application.block)

        own = patches(windows_of(application, X, W))
        left = application.constants.form(
            f"kernels of {group} groups", (W,), 8 * W.size, lambda: Left(own.kernels(W), own.block)
        )
        exact = convolution(X, W, bias, own, out, left)
        filled, places = without_gaps(application, X, W)
        if filled.shape != W.shape and not (np.isfinite(X).all() and (out[np.signbit(out)] != 0).all()):
            exact += convolution(X, filled, bias, patches(places), out)
        application.count(out.size, min(exact, out.size))
        return out

    return conv


def convolution(
    X: Array, W: Array, bias: Array | None, patches: WindowPatches, out: Array, left: Left | None = None
) -> int:
    """Y in `out`; how many elements were added up exactly.  `left` is made of W."""
    if out.size == 0 or patches.height == 0:
        out[...] = 0 if bias is None else bias.reshape(-1, *[1] * (out.ndim - 2)) + bias.dtype.type(0)
        return 0
    left, exact = left or Left(patches.kernels(W), patches.block), 0
    kernels = left.values
    added = None if bias is None else bias.astype(DOUBLE).reshape(*kernels.shape[:2], 1)
    target = out.reshape(len(X), *kernels.shape[:2], -1)
    for sample, sample_out in zip(X, target, strict=True):
        open_by_block = []
        for part, right in patches.blocks(sample):
            place = sample_out[:, :, part]
            if out.dtype == DOUBLE:
                exact += _exactly(kernels, right, added, place)
                continue
            open_ = open_block(left, right, place, added)
            open_by_block.append(replace(open_, columns=open_.columns + part.start))
        exact += settled(left, patches.columns, open_by_block, sample_out, added) if open_by_block else 0
    return exact


def _exactly(kernels: Array, right: Right, added: Array | None, out: Array) -> int:
    """A block of float64; a bias is one more column of the kernels over a row of ones."""
    columns = np.concatenate(right.pieces, axis=1)
    if added is not None:
        kernels = np.concatenate([kernels, added], axis=2)
        columns = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
    return double_products.product_into(kernels, columns, out)


OPERATOR = Operator(
    name="Conv",
    continuous=True,
    may_overflow_inside=True,
    define=define,
    kernel=kernel,
    explicit_attributes=explicit_padding,
    bound=bound,
)
