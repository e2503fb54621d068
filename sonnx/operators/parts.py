"""Concat, Expand, Gather, Slice and Split: tensors put together, repeated and taken apart; elements stay bit for bit.

Concat    the elements of the inputs, one input after the other along the axis.  SONNX of 2026-08; ONNX Concat-1 to
          Concat-13.
Expand    output[i] = input[j], both broadcast to one shape: the shape is broadcast with that of the input, as in
          multidirectional broadcasting.  ONNX Expand-8 to Expand-13.
Gather    output[.., j, ..] = data[.., indices[j], ..] along the axis.  From version 11 on a negative index counts from
          the end; an index outside the axis has no element.  ONNX Gather-1 to Gather-13.
Slice     Y[.., y, ..] = X[.., S' + y * K, ..], S' the start and K the step along each named axis.  The data file's
          `named`, `begins`, `stops` and `stepping` are axes, starts, ends and steps, counted from the first.  ONNX
          brings starts and ends into the axis, the profile demands it: for a positive step [0, d] both, for a negative
          one [0, d - 1] and [-1, d - 1].  SONNX of 2026-08; ONNX Slice-1 to Slice-13.
Split     the pieces of the input along the axis, one after the other.  The extents of the pieces stand in the attribute
          `split` (before version 13) or in the second input; without them the pieces are equal, from version 18 on the
          last one smaller where they cannot be.  ONNX Split-1 to Split-18.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application, Kernel, NoValue, optional, required
from sonnx.numerics.broadcasting import common_shape
from sonnx.numerics.elementwise import integer_list
from sonnx.numerics.enclosures import layout
from sonnx.numerics.formats import Array
from sonnx.operators.operator import Operator, copying_kernel


def concat(application: Application, X: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of the inputs."""
    return (np.concatenate(X, application.names["axis"]),)


def concat_kernel(application: Application) -> Kernel:
    """The concatenation of numpy, into the array that is given."""
    axis = application.names["axis"]

    def concatenate(inputs: Sequence[Any], out: Array) -> Array:
        np.concatenate(inputs, axis, out=out)
        return out

    return concatenate


def expand(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of input.

    Raises:
        NotExecutable: the shapes are not broadcastable.
    """
    wanted = tuple(integer_list(inputs[1], "shape"))
    if min(wanted, default=0) < 0:
        raise NotExecutable(f"the shape {list(wanted)} has a negative extent")
    return (np.broadcast_to(inputs[0], common_shape(application.operator, [inputs[0].shape, wanted])),)


def gather(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """output, of the type of data.

    Raises:
        NotExecutable: data does not have the axis.
        NoValue: an index lies outside the axis.
    """
    data, indices = inputs
    axis = _axis(application, data)
    if indices.dtype.kind != "i":
        raise NotExecutable("the indices are not integers")
    extent = data.shape[axis]
    if np.any((indices < -extent) | (indices >= extent)):
        raise NoValue("Gather.indices-in-axis", f"an index lies outside [-{extent}, {extent - 1}]")
    return (np.asarray(np.take(data, indices, axis), data.dtype),)


def _axis(application: Application, data: Array) -> int:
    axis: int | None = application.parameter("axis")
    if axis is None:
        raise NotExecutable("the axis is not written, and no text says which it is")
    if not -data.ndim <= axis < data.ndim:
        raise NotExecutable(f"a tensor of rank {data.ndim} has no axis {axis}")
    return axis


def sliced(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type of X."""
    X, names = inputs[0], application.names
    at = [slice(None)] * X.ndim
    for axis, start, end, step in zip(names["named"], names["begins"], names["stops"], names["stepping"], strict=True):
        at[axis] = along(X.shape[axis], start, end, step)
    return (X[tuple(at)],)


def along(extent: int, start: int, end: int, step: int) -> slice:
    """The elements of one axis."""
    if step > 0:
        return slice(_between(start, 0, extent), _between(end, 0, extent), step)
    start, end = _between(start, 0, extent - 1), _between(end, -1, extent - 1)
    return slice(start, end if end >= 0 else None, step) if extent else slice(0, 0)


def _between(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


SMALLER_LAST_SINCE = 18


def split(application: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """The pieces, of the type of input.

    Raises:
        NotExecutable: the input does not have the axis, no text says which it is, or the extents do not add up to it.
    """
    [data], [lengths] = required(inputs, 1), optional(inputs, 1)
    axis = _axis(application, data)
    stated = integer_list(lengths, "split") if lengths is not None else application.parameter("split")
    extents = list(stated) if stated is not None else _equal(application, data.shape[axis])
    if len(extents) != application.outputs or min(extents) < 0 or sum(extents) != data.shape[axis]:
        text = f"{application.outputs} outputs of extents {extents}, from an axis of extent {data.shape[axis]}"
        raise NotExecutable(text)
    return tuple(np.split(data, np.cumsum(extents)[:-1], axis))


def _equal(application: Application, extent: int) -> list[int]:
    count = application.parameter("num_outputs") or application.outputs
    if application.version < SMALLER_LAST_SINCE:
        return [extent // count] * count
    piece = -(-extent // count)
    return [*([piece] * (count - 1)), extent - piece * (count - 1)]


OPERATORS = (
    Operator(
        name="Concat",
        moved_inputs="every",
        axis_parameter="axis",
        associative=True,
        continuous=True,
        selects=True,
        define=concat,
        kernel=concat_kernel,
        bound=layout.moving(concat, None, one_to_one=True),
    ),
    Operator(
        name="Expand", moved_inputs="first", selects=True, continuous=True, define=expand, bound=layout.moving(expand)
    ),
    Operator(
        name="Gather",
        moved_inputs="first",
        selects=True,
        continuous=True,
        axis_parameter="axis",
        define=gather,
        bound=layout.moving(gather),
    ),
    Operator(
        name="Slice",
        moved_inputs="first",
        continuous=True,
        selects=True,
        define=sliced,
        kernel=copying_kernel(sliced),
        bound=layout.moving(sliced),
    ),
    Operator(
        name="Split",
        moved_inputs="first",
        selects=True,
        continuous=True,
        axis_parameter="axis",
        define=split,
        bound=layout.moving(split),
    ),
)
