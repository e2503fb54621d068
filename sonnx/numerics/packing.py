"""Arrays and the bytes of TensorProto.raw_data: little-endian, and elements of fewer than eight bits packed.

The first element stands in the lowest bits of the first byte (onnx.proto, TensorProto); the last byte is filled with 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.model.ir import WIDTH, byte_size
from sonnx.numerics.formats import NAMES, Array


def packed(values: Array) -> bytes:
    """The elements of an array of numbers as raw_data has them."""
    bits = int(8 * WIDTH[NAMES[values.dtype]])
    if bits >= 8:
        return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    held = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
    single = np.unpackbits(held, axis=1, count=bits, bitorder="little")
    return np.packbits(single.reshape(-1), bitorder="little").tobytes()


def packed_size(shape: Sequence[int], kind: np.dtype[Any]) -> int | None:
    """The bytes that an array of numbers takes in raw_data, None where no file has as many."""
    return byte_size(NAMES[kind], tuple(shape))


def unpacked(data: bytes | memoryview, shape: Sequence[int], kind: np.dtype[Any]) -> Array:
    """The array whose elements raw_data has; a view of the bytes where an element has whole bytes."""
    bits = int(8 * WIDTH[NAMES[kind]])
    held = np.frombuffer(data, np.uint8)
    if bits >= 8:
        return held.view(kind.newbyteorder("<")).astype(kind, copy=False).reshape(shape)
    single = np.unpackbits(held, count=prod(shape) * bits, bitorder="little").reshape(-1, bits)
    return np.packbits(single, axis=1, bitorder="little").reshape(-1).view(kind).reshape(shape)
