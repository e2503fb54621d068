"""Constants that rewrites make: from numbers, or from the bytes of another constant, which are moved, never decoded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.executor.array_sizes import is_possible
from sonnx.model.ir import WIDTH, DeferredBytes, SparseTensor, Tensor, byte_size
from sonnx.model.reader import element_names
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, format_of, has_array, lowest
from sonnx.numerics.packing import packed
from sonnx.numerics.small_floats import EXPONENTS

ELEMENT_NUMBERS = {name: number for number, name in element_names().items() if name is not None}
"""The number of each element type, as the attribute `to` of Cast has it."""

MAX_CONSTANT_BYTES = 1 << 31
"""Bytes that a protobuf file can hold; no larger constant is made."""


def from_array(name: str, values: Array) -> Tensor:
    """A constant with the elements of an array."""
    if values.dtype == TEXT:
        strings = tuple(value.encode() for value in values.ravel())
        return Tensor(name, "string", values.shape, ("string_data",), None, strings, len(strings) or None)
    element = NAMES[values.dtype]
    return from_deferred(name, element, values.shape, lambda: packed(np.ascontiguousarray(values)))


def from_numbers(name: str, element: str, numbers: Any, dims: Sequence[int] = ()) -> Tensor | None:
    """A constant of one number everywhere, or of listed ones.

    None where the type is unknown or does not have 0, and for more bytes than a file can hold.
    """
    dtype = ELEMENTS.get(element)
    if dtype is None or dtype == TEXT or element == EXPONENTS or not _is_possible(dims, dtype):
        return None
    return from_array(name, np.broadcast_to(np.array(numbers, dtype), tuple(dims)))


def _is_possible(dims: Sequence[int], kind: np.dtype[Any]) -> bool:
    """Whether there is an array of this shape, also as the result of broadcasting, and a file can hold it."""
    return is_possible(dims) and has_array(dims, kind) and prod(dims) * kind.itemsize <= MAX_CONSTANT_BYTES


def from_bytes(name: str, element: str | None, dims: Sequence[int], data: bytes) -> Tensor:
    """A constant whose bytes are known."""
    return Tensor(name, element, tuple(dims), ("raw_data",), memoryview(data))


FEW = 4096
"""Bytes up to which a constant is computed at once."""


def from_deferred(name: str, element: str | None, dims: Sequence[int], compute: Callable[[], bytes]) -> Tensor:
    """A constant whose bytes, where they are many, are computed when they are read: a dry run reads few of them."""
    size = byte_size(element or "", tuple(dims)) or 0
    content = memoryview(compute()) if size <= FEW else DeferredBytes(size, compute)
    return Tensor(name, element, tuple(dims), ("raw_data",), content)


def moved(tensor: Tensor, name: str, dims: Sequence[int], move: Callable[[Array], Array]) -> Tensor | None:
    """The constant with its elements moved to a shape, None where its bytes cannot be moved.

    `move` gives an array of this shape from one of opaque elements.
    """
    kind = _opaque(tensor)
    if kind is None or not _is_possible(dims, kind):
        return None

    def compute() -> bytes:
        values = undecoded(tensor)
        return b"" if values is None else np.ascontiguousarray(move(values)).tobytes()

    return from_deferred(name, tensor.element, dims, compute)


def smallest(element: str) -> float | int | None:
    """The smallest value of an element type: -Inf, or the smallest integer; None where the type is unknown."""
    dtype = ELEMENTS.get(element)
    if dtype is None or (format_of(dtype) is None and dtype.kind not in "biu"):
        return None
    return float("-inf") if format_of(dtype) is not None else lowest(dtype)


def content(tensor: Tensor) -> object | None:
    """What makes two constants equal; None where not all values are in the file as bytes."""
    if tensor.data is None or tensor.segment or tensor.misfit is not None:
        return None
    return tensor.element, tensor.dims, hashlib.sha256(tensor.data).digest()


OUTLINED = 4096
"""Bytes at both ends of a constant that its outline reads."""


def outline(tensor: Tensor) -> object:
    """What equal constants have in common, and most others do not; it reads little of a large one."""
    ends = () if tensor.data is None else (bytes(tensor.data[:OUTLINED]), bytes(tensor.data[-OUTLINED:]))
    return tensor.element, tensor.dims, ends


LARGEST_INTEGER = 8
"""Bytes of the largest integers of numpy."""


def undecoded(tensor: Tensor) -> Array | None:
    """The elements of a constant as uninterpreted bytes; None where they are not in the file or not whole bytes."""
    kind = _opaque(tensor)
    return None if kind is None else np.frombuffer(tensor.data or b"", kind).reshape(tensor.dims)


def _opaque(tensor: Tensor) -> np.dtype[Any] | None:
    """The type of uninterpreted elements: unsigned integers, which numpy moves many times as fast as opaque items."""
    width = WIDTH.get(tensor.element or "", 0)
    if tensor.content is None or width < 1 or tensor.segment or tensor.misfit is not None:
        return None
    kind = np.dtype(f"u{int(width)}" if width <= LARGEST_INTEGER else f"V{int(width)}")
    wanted = prod(tensor.dims) * kind.itemsize
    if min(tensor.dims, default=0) < 0 or not has_array(tensor.dims, kind) or tensor.data_size != wanted:
        return None
    return kind


def decoded(tensor: Tensor) -> Array | None:
    """The numbers of a constant; None where the executor does not know its type or the values are not in the file."""
    if 0 in tensor.dims and tensor.content is None and tensor.external is None:
        tensor = replace(tensor, content=memoryview(b""))  # a tensor without elements needs no field of values
    dtype, values = ELEMENTS.get(tensor.element or ""), undecoded(tensor)
    if dtype is None or dtype == TEXT or values is None:
        return None
    return values.view(dtype.newbyteorder("<")).astype(dtype, copy=False)


def broadcast(tensor: Tensor, name: str, dims: Sequence[int]) -> Tensor | None:
    """The constant repeated to a shape it broadcasts to, None where its bytes cannot be moved."""
    return moved(tensor, name, dims, lambda values: np.broadcast_to(values, tuple(dims)))


def transposed(tensor: Tensor, name: str) -> Tensor | None:
    """The matrix with its axes exchanged, None where its bytes cannot be moved."""
    return moved(tensor, name, tensor.dims[::-1], lambda values: values.T)


def reshaped(tensor: Tensor, name: str, dims: Sequence[int]) -> Tensor:
    """The same elements under another name and another shape of the same size."""
    return replace(tensor, name=name, dims=tuple(dims))


def part_of_first_axis(tensor: Tensor, name: str, index: int, parts: int) -> Tensor | None:
    """One of equal parts of a constant along its first axis, None where its bytes cannot be moved."""
    rows = tensor.dims[0] // parts
    dims = (rows, *tensor.dims[1:])
    return moved(tensor, name, dims, lambda values: values[index * rows : (index + 1) * rows])


def dense(sparse: SparseTensor, name: str, max_bytes: int) -> Tensor | None:
    """The constant with its zeros written, the bytes of its values moved.

    None where it needs more than `max_bytes`, its type has no zero or is unknown, or its indices are not as ONNX
    requires (inside the shape, each once, ascending; one number each in row-major order, or one for each axis).
    """
    dtype = ELEMENTS.get(sparse.element or "")
    if dtype is None or sparse.values is None or sparse.indices is None or np.zeros(1, dtype)[0] != 0:
        return None
    values, indices = undecoded(sparse.values), undecoded(sparse.indices)
    size = int(np.prod(sparse.dims, dtype=object)) if min(sparse.dims, default=0) >= 0 else max_bytes + 1
    if values is None or indices is None or sparse.indices.element != "int64" or size * dtype.itemsize > max_bytes:
        return None
    written = indices.view("<i8")
    places = _row_major(written, sparse.dims) if values.size else written.reshape(-1)
    if places is None or places.shape != values.shape or not ((places >= 0) & (places < size)).all():
        return None
    if (np.diff(places) <= 0).any():
        return None
    elements = np.zeros(size, values.dtype)
    elements[places] = values
    return from_bytes(name, sparse.element, sparse.dims, elements.tobytes())


def _row_major(indices: Array, dims: Sequence[int]) -> Array | None:
    """Row-major places, from such places or from one index per axis; None where an index is outside its axis."""
    if indices.ndim != 2:
        return indices if indices.ndim == 1 else None
    if indices.shape[1] != len(dims) or not ((indices >= 0) & (indices < np.array(dims, np.int64))).all():
        return None
    strides = [int(np.prod(dims[axis + 1 :], dtype=object)) for axis in range(len(dims))]
    array: Array = (indices * np.array(strides, np.int64)).sum(axis=1)
    return array
