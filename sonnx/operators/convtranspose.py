"""ConvTranspose: Y[b, c, o] = B[c] + the sum of X[b, i, m] * W[i, c, k] over all i, m and k with o = m s + k d - p.

ONNX ConvTranspose-1 to ConvTranspose-22, for any number of spatial axes; i runs over the channels of the group of c.
The extent of an axis is s (extent - 1) + output_padding + d (kernel - 1) + 1 - both pads, or output_shape, from which
the padding follows.  The exact sum is rounded once; where nothing is added it is +0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics import double_products
from sonnx.numerics.application import Application, Kernel, optional, required
from sonnx.numerics.blocks import BlockSize
from sonnx.numerics.certified_rounding import DOUBLE, certify
from sonnx.numerics.enclosures import products
from sonnx.numerics.enclosures.values import Context, Transfer, Value
from sonnx.numerics.exact_sums import Number, in_units_of_products, numbers, store, times, total
from sonnx.numerics.formats import Array
from sonnx.numerics.rounding import to_nearest
from sonnx.numerics.single_products import GATHERED_PRODUCTS, bound_factor, exact_row_sums
from sonnx.numerics.windows import window, windows
from sonnx.operators.operator import Operator

EQUATIONS_TURNED = 11
"""The version from which the first half of an odd padding is the smaller one for SAME_UPPER only.

Version 1 prints the equations the other way round, against its own sentence on SAME_UPPER and SAME_LOWER, which hold.
"""

PRODUCT_ELEMENTS = 1 << 20
"""Elements of a matrix product that are in memory at a time."""


def places(application: Application, shape: Sequence[int], weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """The extents of Y on the spatial axes, and the padding at their beginnings.

    Raises:
        NotExecutable: the attributes or shapes do not fit.
    """
    axes, group = len(shape) - 2, application.parameter("group")
    lists = ("strides", "dilations", "output_padding", "pads")
    strides, dilations, more, pads = (application.parameter(name) for name in lists)
    kernel = list(weights[2:])
    if (
        axes < 1
        or {len(weights), len(strides) + 2, len(dilations) + 2, len(more) + 2, len(pads) // 2 + 2} != {axes + 2}
        or list(application.parameter("kernel_shape")) != kernel
        or min((*strides, *dilations, *kernel, group)) < 1
        or shape[1] != weights[0]
        or shape[1] % group
    ):
        raise NotExecutable(f"the attributes do not fit an X of shape {list(shape)} and a W of shape {list(weights)}")
    whole = [
        s * (extent - 1) + out + window(size, d)
        for s, extent, out, size, d in zip(strides, shape[2:], more, kernel, dilations, strict=True)
    ]
    wanted, how = application.parameter("output_shape"), application.parameter("auto_pad")
    if wanted is not None or how.startswith("SAME"):
        extents = wanted or [extent * s for extent, s in zip(shape[2:], strides, strict=True)]
        cut = [max(0, each - extent) for each, extent in zip(whole, extents, strict=True)]
        smaller = how == "SAME_UPPER" or (application.version < EQUATIONS_TURNED and how != "SAME_LOWER")
        return list(extents), [each // 2 if smaller else each - each // 2 for each in cut]
    pads = [0] * 2 * axes if how == "VALID" else pads
    return [each - pads[d] - pads[axes + d] for d, each in enumerate(whole)], list(pads[:axes])


def define(application: Application, inputs: Sequence[Array | None]) -> tuple[Array]:
    """Y, of the type of X."""
    (X, W), [B] = required(inputs, 2), optional(inputs, 2)
    extents, begins = places(application, X.shape, W.shape)
    group, axes = application.parameter("group"), X.ndim - 2
    strides, dilations = (application.parameter(name) for name in ("strides", "dilations"))
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
    bias = None if B is None else [in_units_of_products(number, B.dtype) for number in numbers(B)]
    for at, own in addends.items():
        store(Y, at, total(own if bias is None else [*own, bias[at[1]]]), power=2)
    return (Y,)


@dataclass(frozen=True, slots=True)
class Spread:
    """Where a kernel puts the elements of X: on axis d its element j puts m to m strides[d] + j gaps[d] - begins[d].

    `extents` are those of X, `places` those of Y.
    """

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    gaps: tuple[int, ...]
    begins: tuple[int, ...]
    places: tuple[int, ...]

    def elements(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
        """For each element of the kernel that reaches Y: its index, which part of X it puts, and where in Y."""
        for index in product(*map(range, self.kernel)):
            axes = [self._axis(d, j) for d, j in enumerate(index)]
            if all(first < last for first, last, _ in axes):
                steps = zip(axes, self.strides, strict=True)
                target = [
                    slice(at, at + (last - first - 1) * stride + 1, stride) for (first, last, at), stride in steps
                ]
                yield index, tuple(slice(first, last) for first, last, _ in axes), tuple(target)

    def _axis(self, d: int, j: int) -> tuple[int, int, int]:
        """The first and last m that element j puts into Y, the last one excluded, and where the first one goes."""
        offset, stride = j * self.gaps[d] - self.begins[d], self.strides[d]
        first = max(0, -(offset // stride))
        last = min(self.extents[d], -((offset - self.places[d]) // stride))
        return first, last, first * stride + offset

    def reaching(self, at: Array) -> Iterator[tuple[tuple[int, ...], Array, Array]]:
        """For each element of the kernel, which places it reaches, and the places in X it puts there.

        Args:
            at: places of Y, of shape (axes, number).

        Yields:
            The index of the element; a mask; places of X, of the shape of `at`, 0 where the mask is not set.
        """
        limits, strides = np.array(self.extents)[:, None], np.array(self.strides)[:, None]
        for index in product(*map(range, self.kernel)):
            offset = np.array(index)[:, None] * np.array(self.gaps)[:, None] - np.array(self.begins)[:, None]
            m, rest = np.divmod(at - offset, strides)
            reached = ((rest == 0) & (m >= 0) & (m < limits)).all(axis=0)
            yield index, reached, np.where(reached, m, 0)


def kernel(application: Application) -> Kernel:
    """The matrix product of W' and X has each kernel element at each place of X; these add up in Y.

    Of at most 32 bits products are exact in float64.  An element of Y is a sum over the channels, which BLAS adds, then
    over the kernel elements that reach it and the bias: no product goes through more additions than there are channels,
    kernel elements and one, which bounds the error as in `single_products.py`.  Cauchy and Schwarz over both sums give
    the norm of W for an output channel times that of the part of X that reaches the place.  Elements that this leaves
    open get the bound of their sum of absolute values, and are then added up exactly; so is all of float64.
    """

    def conv_transpose(inputs: Sequence[Array], out: Array) -> Array:
        (X, W), [B] = required(inputs, 2), optional(inputs, 2)
        extents, begins = places(application, X.shape, W.shape)
        strides, gaps = (application.parameter(name) for name in ("strides", "dilations"))
        lists = (X.shape[2:], W.shape[2:], strides, gaps, begins, extents)
        spread = Spread(*[tuple(items) for items in lists])
        group = application.parameter("group")
        channels, count, exact = X.shape[1] // group, W.shape[1], 0
        for n, g in np.ndindex(len(X) if out.size else 0, group):
            read, piece = slice(g * channels, (g + 1) * channels), slice(g * count, (g + 1) * count)
            bias = None if B is None else B[piece]
            exact += _group(X[n, read], W[read], bias, spread, out[n, piece], application.block)
        application.count(out.size, exact)
        return out

    return conv_transpose


def _group(X: Array, W: Array, bias: Array | None, spread: Spread, out: Array, block: BlockSize) -> int:
    """Y of one group of channels of one sample; how many elements were added up exactly."""
    if out.dtype == DOUBLE:
        return _exactly(X, W, bias, spread, out, np.arange(out.size), block(GATHERED_PRODUCTS))
    wide, weights = X.astype(DOUBLE), W.astype(DOUBLE)
    added = np.zeros(len(out)) if bias is None else bias.astype(DOUBLE)
    count = len(X) + prod(spread.kernel) + 1
    factor, tiny = bound_factor(count), np.finfo(DOUBLE).smallest_subnormal
    step, exact = max(1, block(PRODUCT_ELEMENTS) // max(1, prod(spread.kernel) * prod(spread.extents))), 0
    squares = np.einsum("i...,i...->...", wide, wide)[None]
    reach = np.sqrt(_spread(squares, np.ones((1, 1, *spread.kernel)), spread))
    for start in range(0, len(out), step):
        some = slice(start, start + step)
        part, own = weights[:, some], _aligned(added[some], spread)
        array = _spread(wide, part, spread) + own
        flat = part.reshape(*part.shape[:2], prod(spread.kernel))
        norms = _aligned(np.sqrt(np.einsum("ick,ick->c", flat, flat)), spread)
        out[some], open_ = certify(array, (norms * reach + np.abs(own)) * factor + tiny, out.dtype)
        if open_.any():
            sums = _spread(np.abs(wide), np.abs(part), spread) + np.abs(own)
            values, open_ = certify(array, sums * factor + tiny, out.dtype)
            if not sums.all():  # every product is a zero
                zeros = _zeros(wide, part, None if bias is None else own, spread)
                np.copyto(values, zeros.astype(values.dtype), where=sums == 0)
                open_ &= sums != 0
            out[some] = values
            rest = np.flatnonzero(open_)
            own_bias = None if bias is None else bias[some]
            exact += _exactly(X, W[:, some], own_bias, spread, out[some], rest, block(GATHERED_PRODUCTS))
    return exact


def _zeros(X: Array, W: Array, bias: Array | None, spread: Spread) -> Array:
    """For sums of zeros: -0 where there are addends, and each is -0, else +0.

    A product is negative where the signs differ; of signs as 1 and -1 the sum of the products then is the negative of
    their number.
    """
    X, W = np.copysign(1.0, X), np.copysign(1.0, W)
    signs, count = _spread(X, W, spread), _spread(np.abs(X), np.abs(W), spread)
    if bias is not None:
        signs, count = signs + np.copysign(1.0, bias), count + 1
    return np.where((signs == -count) & (count > 0), -0.0, 0.0)


def _aligned(values: Array, spread: Spread) -> Array:
    """One number for each channel of Y, to be broadcast over its places."""
    return values.reshape(-1, *[1] * len(spread.places))


def _spread(X: Array, W: Array, spread: Spread) -> Array:
    """The sums over the channels of X and the kernel elements, in float64: (channels of Y, places of Y).

    Args:
        X: (channels, extents).
        W: (channels, channels of Y, kernel).
        spread: where the elements go.
    """
    channels, count = W.shape[:2]
    rows = W.reshape(channels, count * prod(spread.kernel)).T
    parts = np.matmul(rows, X.reshape(channels, prod(spread.extents)))
    parts = parts.reshape(count, *spread.kernel, *spread.extents)
    Y = np.zeros((count, *spread.places))
    for index, part, target in spread.elements():
        Y[(slice(None), *target)] += parts[(slice(None), *index, *part)]
    return Y


def _exactly(X: Array, W: Array, bias: Array | None, spread: Spread, out: Array, flat: Array, block: int) -> int:
    """Give the elements with these flat numbers their exact sums; how many of them have only finite addends."""
    step, exact = max(1, block // max(1, len(X) * prod(spread.kernel))), 0
    for start in range(0, len(flat), step):
        index = np.unravel_index(flat[start : start + step], out.shape)
        values, finite = _sums(*_factors(X, W, bias, spread, index[0], np.array(index[1:])), out.dtype)
        out[index] = values
        exact += finite
    return exact


def _factors(
    X: Array, W: Array, bias: Array | None, spread: Spread, channels: Array, at: Array
) -> tuple[Array, Array, Array]:
    """The factors of the sums at some places of Y, as (places, products), and which products there are."""
    left, right, there = list[Array](), list[Array](), list[Array]()
    for index, reached, m in spread.reaching(at) if X.size else ():
        at_x: tuple[Any, ...] = (slice(None), *m)
        at_w: tuple[Any, ...] = (slice(None), channels, *index)
        left.append(X[at_x].T)
        right.append(W[at_w].T)
        there.append(np.broadcast_to(reached[:, None], left[-1].shape))
    if bias is not None:
        left.append(bias[channels][:, None])
        right.append(np.ones_like(left[-1]))
        there.append(np.ones(left[-1].shape, np.bool_))
    if not left:
        none = np.zeros((len(channels), 0), X.dtype)
        return none, none, none.astype(np.bool_)
    return np.concatenate(left, axis=1), np.concatenate(right, axis=1), np.concatenate(there, axis=1)


def _sums(left: Array, right: Array, there: Array, kind: np.dtype[Any]) -> tuple[Array, int]:
    """The sums of the products that are there, each rounded once, and how many have only finite addends.

    -0 changes no sum, but a sum of no addend is +0.
    """
    if not there.size:
        return np.zeros(len(there), kind), 0
    left, right = np.where(there, left, left.dtype.type(-0.0)), np.where(there, right, right.dtype.type(1))
    if kind == DOUBLE:
        values, count = double_products.exact_dot_products(left, right), len(left)
    else:
        addends = left.astype(DOUBLE) * right
        finite = np.isfinite(addends).all(axis=1)
        values, count = to_nearest(np.add.reduce(addends, axis=1), kind), int(np.count_nonzero(finite))
        if count:
            values[finite] = exact_row_sums(addends[finite], kind)
    values[~there.any(axis=1)] = 0
    return values, count


def bound(context: Context, inputs: Sequence[Value | None]) -> list[Transfer]:
    """The transfer function of ranges and errors."""
    (X, W), [B] = required(inputs, 2), optional(inputs, 2)
    application = context.application
    extents, begins = places(application, X.shape, W.shape)
    strides, dilations = (application.parameter(name) for name in ("strides", "dilations"))
    spans = [window(size, dilation) for size, dilation in zip(W.shape[2:], dilations, strict=True)]
    reached = [stride * (count - 1) + span for stride, count, span in zip(strides, X.shape[2:], spans, strict=True)]
    # the places of X: what a window reaches behind Y is padding, and what is behind the last window is left out
    ends = [max(0, each - begin - extent) for each, begin, extent in zip(reached, begins, extents, strict=True)]
    if min(begins, default=0) < 0 or min((*X.shape, *extents)) < 1:
        raise NotExecutable("ConvTranspose has a bound for pads of at least 0 and elements to add only")
    slid = windows(extents, W.shape[2:], strides, dilations, [*begins, *ends])
    return [products.transposed_convolution(context, X, W, B, slid, application.parameter("group"))]


OPERATOR = Operator(
    name="ConvTranspose", continuous=True, may_overflow_inside=True, define=define, kernel=kernel, bound=bound
)
