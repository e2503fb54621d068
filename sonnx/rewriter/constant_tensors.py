"""Constants that rewrites make: from a few numbers, or from the bytes of another constant, moved and never decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx.model.from_protobuf import VALUE_FIELD
from sonnx.model.ir import WIDTH, Attribute, AttributeValue, SparseTensor, Tensor
from sonnx.model.reader import element_names
from sonnx.numerics.formats import ELEMENTS, NAMES, Array, format_of, lowest

NUMBER = {name: number for number, name in element_names().items() if name is not None}
"""The number of each element type, as the attribute of Cast has it."""

LARGEST = 1 << 31
"""Bytes a file of protobuf can hold; no constant is made that is larger."""


def of_array(name: str, values: Array) -> Tensor:
    """A constant with the elements of an array."""
    data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return raw(name, NAMES[values.dtype], values.shape, data)


def of_numbers(name: str, element: str, numbers: Any, dims: Sequence[int] = ()) -> Tensor | None:
    """A constant of one number everywhere, or of listed ones; None where the executor does not know the type."""
    kind = ELEMENTS.get(element)
    if kind is None:
        return None
    return of_array(name, np.broadcast_to(np.array(numbers, kind), tuple(dims)))


def least(element: str) -> float | int | None:
    """The number no other of an element type is below: -Inf, or the smallest integer."""
    kind = ELEMENTS.get(element)
    if kind is None:
        return None
    return float("-inf") if format_of(kind) is not None else lowest(kind)


def raw(name: str, element: str | None, dims: Sequence[int], data: bytes) -> Tensor:
    """A constant whose bytes are known."""
    return Tensor(name, element, tuple(dims), ("raw_data",), memoryview(data))


def opaque(tensor: Tensor) -> Array | None:
    """The elements of a constant as bytes without a meaning, None where they are not in the file or not whole bytes."""
    width = WIDTH.get(tensor.element or "", 0)
    if tensor.data is None or width < 1 or tensor.segment or tensor.misfit is not None:
        return None
    values = np.frombuffer(tensor.data, f"V{int(width)}")
    if min(tensor.dims, default=0) < 0 or values.size != int(np.prod(tensor.dims, dtype=object)):
        return None
    return values.reshape(tensor.dims)


def broadcast(tensor: Tensor, name: str, dims: Sequence[int]) -> Tensor | None:
    """The constant repeated to a shape it broadcasts to, None where its bytes cannot be moved."""
    values = opaque(tensor)
    if values is None or int(np.prod(dims, dtype=object)) * values.itemsize > LARGEST:
        return None
    return raw(name, tensor.element, dims, np.broadcast_to(values, tuple(dims)).tobytes())


def transposed(tensor: Tensor, name: str) -> Tensor | None:
    """The matrix with its axes exchanged, None where its bytes cannot be moved."""
    values = opaque(tensor)
    return None if values is None else raw(name, tensor.element, values.T.shape, values.T.tobytes())


def dense(sparse: SparseTensor, name: str, most: int) -> Tensor | None:
    """The constant with its zeros written, the bytes of its values moved.

    None where it is of more than `most` bytes, its type has no zero or is unknown, or its indices are not as ONNX asks
    (inside the shape, each once, ascending; one number each in row-major order, or one for each axis).
    """
    kind = ELEMENTS.get(sparse.element or "")
    if kind is None or sparse.values is None or sparse.indices is None or np.zeros(1, kind)[0] != 0:
        return None
    values, indices = opaque(sparse.values), opaque(sparse.indices)
    size = int(np.prod(sparse.dims, dtype=object)) if min(sparse.dims, default=0) >= 0 else most + 1
    if values is None or indices is None or sparse.indices.element != "int64" or size * kind.itemsize > most:
        return None
    written = indices.view("<i8")
    places = _row_major(written, sparse.dims) if values.size else written.reshape(-1)
    if places is None or places.shape != values.shape or not ((places >= 0) & (places < size)).all():
        return None
    if (np.diff(places) <= 0).any():
        return None
    made = np.zeros(size, values.dtype)
    made[places] = values
    return raw(name, sparse.element, sparse.dims, made.tobytes())


def _row_major(indices: Array, dims: Sequence[int]) -> Array | None:
    """Places in row-major order, from those or from one index for each axis; None where one is outside its axis."""
    if indices.ndim != 2:
        return indices if indices.ndim == 1 else None
    if indices.shape[1] != len(dims) or not ((indices >= 0) & (indices < np.array(dims, np.int64))).all():
        return None
    strides = [int(np.prod(dims[axis + 1 :], dtype=object)) for axis in range(len(dims))]
    found: Array = (indices * np.array(strides, np.int64)).sum(axis=1)
    return found


def reshaped(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """The same elements under another shape of the same size."""
    return replace(tensor, dims=tuple(dims))


def attribute(name: str, kind: str, value: AttributeValue) -> Attribute:
    """An attribute that is written."""
    field = VALUE_FIELD.get(kind, kind)
    return Attribute(name, kind, value, "", () if value == () else (field,))


def normalized(given: Sequence[Tensor], epsilon: float, names: tuple[str, str]) -> tuple[Tensor, Tensor] | None:
    """The kernels and bias of a convolution with what normalizes its output: scale, bias, mean, variance, W, maybe B.

    They are computed in float64 and rounded to the type of the constants; None where they do not fit each other or a
    result is no finite number.
    """
    arrays = [decoded(tensor) for tensor in given]
    numbers = [each for each in arrays if each is not None and each.dtype.kind == "f"]
    if len(numbers) != len(given) or any(each.shape != numbers[4].shape[:1] for each in (*numbers[:4], *numbers[5:])):
        return None
    kind = numbers[4].dtype
    scale, bias, mean, variance, kernels, *before = (each.astype(np.float64) for each in numbers)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        shift = ((before[0] if before else 0.0) - mean) * factor + bias
        made = (kernels * factor.reshape(-1, *[1] * (kernels.ndim - 1))).astype(kind), shift.astype(kind)
    if not all(np.isfinite(each).all() for each in made):
        return None
    return of_array(names[0], made[0]), of_array(names[1], made[1])


def decoded(tensor: Tensor) -> Array | None:
    """The numbers of a constant, None where the executor does not know its type or it has none."""
    kind, values = ELEMENTS.get(tensor.element or ""), opaque(tensor)
    return None if kind is None or values is None else values.view(kind.newbyteorder("<")).astype(kind, copy=False)
