"""MaxPool: Y[b, c, m, n] = max over h, w of X[b, c, m s0 + h d0 - p0, n s1 + w d1 - p1], elements of X only.

SONNX MaxPool of 2026-08 and 2026-10; ONNX MaxPool-1 to MaxPool-22, for any number of spatial axes.  The order is that
of Max: NaN is highest, +0 above -0 (erratum maxpool-zeros-and-nan); of several NaNs the first of the window is the
result, bit for bit.  Indices holds the place of the first element of the window, in row-major order, that is the
maximum, counted over all of X (erratum maxpool-index-over-plane); with storage_order = 1 the spatial axes of X are
counted with the first one fastest.  Padding does not count as an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from sonnx.numerics.application import Application, Kernel, NoValue
from sonnx.numerics.blocks import BlockSize
from sonnx.numerics.enclosures import selection
from sonnx.numerics.formats import Array, lowest, order_key, patterns
from sonnx.numerics.maximum import fast_maximum
from sonnx.numerics.windows import Windows, explicit_padding, windows
from sonnx.operators.operator import Operator

PLANE_ELEMENTS = 1 << 20
"""Elements of the planes that are padded at a time; at least one plane."""


def define(application: Application, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Y, of the type of X, and Indices, int64, where the node has them.

    Raises:
        NoValue: a window lies on padding only (MaxPool.every-window-touches).
    """
    (X,), slid = inputs, windows_of(application, inputs[0])
    key, numbers = order_key(X.dtype), numbering(application, X)
    Y = np.empty((*X.shape[:2], *slid.places), X.dtype)
    indices = np.empty(Y.shape, np.int64)
    for b, c, *at in np.ndindex(Y.shape):
        candidates = [(b, c, *each) for each in slid.under(at) if each is not None]
        if not candidates:
            raise NoValue("MaxPool.every-window-touches", f"the window at {at} lies on padding only")
        best = max(candidates, key=lambda candidate: key(int(patterns(X)[candidate])))  # max gives the first
        patterns(Y)[(b, c, *at)] = patterns(X)[best]
        indices[(b, c, *at)] = numbers[best]
    return (Y, indices)[: application.outputs]


def windows_of(application: Application, X: Array) -> Windows:
    """The places of the window on the spatial axes of X."""
    names = application.names
    return windows(X.shape[2:], names["kernel_shape"], names["strides"], names["spacing"], names["pads"])


def numbering(application: Application, X: Array) -> Array:
    """The number of each element of X as Indices gives it.

    Raises:
        NoValue: storage_order is neither 0 nor 1; no text says what that means.
    """
    order = application.parameter("storage_order")
    if order not in (0, 1):
        raise NoValue("MaxPool.row-major", f"storage_order is {order}")
    numbers = np.arange(X.size)
    if order == 0:
        return numbers.reshape(X.shape)
    turned = (*X.shape[:2], *reversed(X.shape[2:]))
    return numbers.reshape(turned).transpose(0, 1, *range(X.ndim - 1, 1, -1))


def kernel(application: Application) -> Kernel:
    """The maximum of shifted views, one axis after another, the last one first.

    The larger of two elements, the first one of two NaNs, is associative; taking rows first keeps row-major order, so
    that the first NaN of a window is the first one of its first row that has one.  Padding is the least value of the
    type, which no window consists of alone; where an element has that value too the maximum is the same.
    """

    def max_pool(inputs: Sequence[Array], out: Array) -> Array:
        numbering(application, inputs[0][:0])  # raises for an unknown order, also where no Indices are computed
        pool(inputs[0], windows_of(application, inputs[0]), out, application.block)
        return out

    return max_pool


def fast_path(application: Application, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Y as by the kernel; Indices hold the first element of each window that has the pattern of its maximum."""
    X, slid = inputs[0], windows_of(application, inputs[0])
    Y = np.empty((*X.shape[:2], *slid.places), X.dtype)
    if not Y.size:
        return define(application, inputs)
    pool(X, slid, Y, application.block)
    indices = _indices(X, Y, slid, numbering(application, X[:1, :1]), application.block)
    return (Y, indices)[: application.outputs]


def _indices(X: Array, Y: Array, slid: Windows, numbers: Array, block: BlockSize) -> Array:
    """The number of the maximum of each window, for the `numbers` of one plane."""
    planes, array = X.reshape(-1, *X.shape[2:]), patterns(Y).reshape(-1, *slid.places)
    known = np.full([e + b + a for e, b, a in zip(slid.extents, slid.begins, slid.ends, strict=True)], -1)
    known[tuple(slice(begin, begin + extent) for begin, extent in zip(slid.begins, slid.extents, strict=True))] = (
        numbers
    )
    indices, step = np.full(array.shape, -1), max(1, block(PLANE_ELEMENTS) // max(1, known.size))
    for start in range(0, len(planes) if array.size else 0, step):
        some = slice(start, start + step)
        elements = patterns(padded(planes[some], slid, 0))
        for part in reversed(list(under_each(slid))):  # the first element comes last
            number = known[part]
            is_maximum = (elements[(slice(None), *part)] == array[some]) & (number >= 0)
            np.copyto(indices[some], number, where=is_maximum)
    if (indices < 0).any():
        place = np.argwhere(indices < 0)[0, 1:].tolist()
        raise NoValue("MaxPool.every-window-touches", f"the window at {place} lies on padding only")
    indices += (np.arange(len(planes)) * prod(slid.extents)).reshape(-1, *[1] * len(slid.places))
    return indices.reshape(Y.shape)


def under_each(slid: Windows) -> Iterator[tuple[slice, ...]]:
    """What lies under each element of the window, in row-major order, on the padded axes."""
    for index in product(*map(range, slid.kernel)):
        axes = zip(index, slid.dilations, slid.places, slid.strides, strict=True)
        yield tuple(slice(j * gap, j * gap + (count - 1) * stride + 1, stride) for j, gap, count, stride in axes)


def pool(X: Array, slid: Windows, out: Array, block: BlockSize) -> None:
    """The maximum under each window, every window over at least one element of X."""
    planes, array = X.reshape(-1, *X.shape[2:]), out.reshape(-1, *out.shape[2:])
    if out.size == 0:
        return
    step = max(1, block(PLANE_ELEMENTS) // max(1, planes[0].size))
    for start in range(0, len(planes), step):
        part = slice(start, start + step)
        _pool(planes[part], slid, array[part], block)


def _pool(planes: Array, slid: Windows, out: Array, block: BlockSize) -> None:
    current = padded(planes, slid, lowest(planes.dtype))
    for d in reversed(range(len(slid.extents))):
        axis, size, stride, dilation = d + 1, slid.kernel[d], slid.strides[d], slid.dilations[d]
        count = slid.places[d]
        views = [
            current[(slice(None),) * axis + (slice(j * dilation, j * dilation + (count - 1) * stride + 1, stride),)]
            for j in range(size)
        ]
        current = fast_maximum(views, out if d == 0 else np.empty(views[0].shape, out.dtype), block)


def padded(planes: Array, slid: Windows, pattern: int) -> Array:
    """Planes with their padding, filled with an element of this pattern."""
    if not any((*slid.begins, *slid.ends)):
        return planes
    extents = zip(slid.extents, slid.begins, slid.ends, strict=True)
    array = np.empty((len(planes), *[extent + begin + end for extent, begin, end in extents]), planes.dtype)
    patterns(array)[...] = pattern
    inside = [slice(begin, begin + extent) for begin, extent in zip(slid.begins, slid.extents, strict=True)]
    array[(slice(None), *inside)] = planes
    return array


OPERATOR = Operator(
    name="MaxPool",
    define=define,
    kernel=kernel,
    fast_path=fast_path,
    explicit_attributes=explicit_padding,
    selects=True,
    continuous=True,
    independent_outputs=True,
    signed_padding=True,
    bound=selection.max_pool,
)
