"""ConvInteger: Y[b, c, m, n] = sum over i, j, z of (X[b, i, ..] - x_zero_point) * (W[c, i, j, z] - w_zero_point[c]).

SONNX ConvInteger of 2026-08, function; ONNX ConvInteger-10.  The places of the kernel are those of Conv.  The exact sum
is taken modulo 2^32 and read as int32 (erratum convinteger-accumulation).  By the SONNX text padding is 0 before the
zero point is taken off, so that it contributes minus the zero point; runtimes differ (erratum
convinteger-padding-value).  A zero point that is left out is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.enclosures import products
from sonnx.numerics.enclosures.values import Context, Transfer, Value, constant
from sonnx.numerics.exact_sums import wrapped
from sonnx.numerics.formats import Array
from sonnx.numerics.matrix_products import integer_product_into
from sonnx.numerics.patches import WindowPatches
from sonnx.numerics.windows import explicit_padding, windows
from sonnx.operators.conv import windows_of
from sonnx.operators.operator import Operator


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of type int32."""
    X, W, x_zero_point, w_zero_point = operands(application, inputs)
    slid, group = windows_of(application, X, W), application.names["group"]
    channels, kernels = W.shape[1], W.shape[0] // group
    Y = np.empty((X.shape[0], W.shape[0], *slid.places), np.int32)
    for b, c, *place in np.ndindex(Y.shape):
        first = c // kernels * channels
        under = list(slid.under(place))
        patch = [0 if at is None else int(X[(b, first + i, *at)]) for i in range(channels) for at in under]
        weights = [int(w) - int(w_zero_point[c]) for w in W[c].flat]
        whole = sum((x - x_zero_point) * w for x, w in zip(patch, weights, strict=True))
        Y[(b, c, *place)] = wrapped(whole, Y.dtype)
    return (Y,)


def operands(application: Application, inputs: Sequence[Any]) -> tuple[Any, Array, int, Array]:
    """X, W, the zero point of X and one zero point for each kernel of W."""
    (X, W), (x_zero_point, w_zero_point) = required(inputs, 2), optional(inputs, 2, 2)
    off = 0 if w_zero_point is None else w_zero_point
    zero = 0 if x_zero_point is None else int(x_zero_point)
    return X, W, zero, np.broadcast_to(off, W.shape[:1])


def kernel(application: Application) -> Kernel:
    """The patches of Conv less the zero point, in float64, and a matrix product of integers."""

    def conv_integer(inputs: Sequence[Array], out: Array) -> Array:
        X, W, x_zero_point, w_zero_point = operands(application, inputs)
        slid, group = windows_of(application, X, W), application.names["group"]
        if not out.size:
            return out
        patches = WindowPatches(slid, X.shape[1], group, len(W), application.block)
        off = w_zero_point.reshape(-1, *[1] * (W.ndim - 1)).astype(np.int64)
        kernels = patches.kernels(W.astype(np.int64) - off)
        target = out.reshape(len(X), *kernels.shape[:2], -1)
        for sample, sample_out in zip(X, target, strict=True):
            for part, right in patches.blocks(sample):
                columns = np.concatenate(right.pieces, axis=1) - x_zero_point
                integer_product_into(kernels, columns, sample_out[:, :, part])
        return out

    return conv_integer


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors, for constant W and zero points; X is padded before x_zero_point is
    taken off, as the text says.

    Raises:
        NotExecutable: a parameter varies.
    """
    (X, W), zeros = required(inputs, 2), optional(inputs, 2, 2)
    if W.exact is None or any(value is not None and value.exact is None for value in zeros):
        raise NotExecutable("ConvInteger has a bound for constant W and zero points only")
    constants = [W.exact, W.exact, *[value and value.exact for value in zeros]]
    _, weights, zero, off = operands(context.application, constants)
    kernels = weights.astype(np.int64) - off.astype(np.int64).reshape(-1, *[1] * (W.exact.ndim - 1))
    context = context.into("int32")
    axes = len(X.shape) - 2
    slid = windows_of(context.application, X, W)
    widths = [(0, 0), (0, 0), *zip(slid.begins, slid.ends, strict=True)]
    inside = [slice(b, b + e) for b, e in zip(slid.begins, slid.extents, strict=True)]

    def padded(array: Array) -> Array:
        return np.pad(array, widths)

    shifted = context.step(
        Transfer(
            padded(X.low) - zero,
            padded(X.high) - zero,
            padded(np.zeros(X.shape)),
            inputs=(X,),
            pulls=(lambda rows: rows[(slice(None), slice(None), slice(None), *inside)],),
            terms=0,
            propagated=padded(np.array(X.error)),
        )
    )
    bare = windows(shifted.shape[2:], slid.kernel, slid.strides, slid.dilations, [0] * 2 * axes)
    transfer = products.convolved(context, shifted, constant("", kernels), None, bare, context.parameter("group"))
    return [replace(transfer, element="int32")]


OPERATOR = Operator(
    name="ConvInteger",
    may_overflow_inside=True,
    define=define,
    kernel=kernel,
    explicit_attributes=explicit_padding,
    bound=bound,
)
