"""The element types as numpy holds them, and the place of every bit pattern in the order of its type.

An element is its bit pattern, a Python integer; an array of patterns is an array seen through the unsigned integers of
its width.  Nothing here converts a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from sonnx.numerics import order

Array: TypeAlias = np.ndarray[Any, Any]

TensorSpec: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and the element type of an array."""

ELEMENTS: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "bool": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
        "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
        "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64,
        "complex64": np.complex64, "complex128": np.complex128, "string": np.object_,
        "int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2, "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4,
        "float4e2m1": ml_dtypes.float4_e2m1fn, "float6e2m3": ml_dtypes.float6_e2m3fn,
        "float6e3m2": ml_dtypes.float6_e3m2fn, "float8e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8e5m2": ml_dtypes.float8_e5m2,
        "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "float8e8m0": ml_dtypes.float8_e8m0fnu,
    }.items()
}  # fmt: skip
"""The element types the executor knows, by their ONNX name.

A string is a Python `str` in an array of objects; an element of fewer than eight bits has a byte of its own.
"""

NAMES = {kind: name for name, kind in ELEMENTS.items()}

TEXT = ELEMENTS["string"]
"""The type of arrays of strings."""

SMALL_INTEGERS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}
"""The integers of fewer than eight bits, with their bits."""

WIDER: dict[np.dtype[Any], np.dtype[Any]] = {
    **{ELEMENTS[name]: np.dtype(np.uint8 if name.startswith("u") else np.int8) for name in SMALL_INTEGERS},
    **{
        kind: np.dtype(np.float32) for name, kind in ELEMENTS.items() if name.startswith(("float4", "float6", "float8"))
    },
}
"""For each type of which numpy has no arithmetic, one of numpy that holds all its numbers."""

_SIGNIFICAND = {"float16": 10, "bfloat16": 7, "float": 23, "double": 52}


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE 754 interchange format: the patterns of -0 and of +Inf, and the integers of its width."""

    sign: int
    infinity: int
    unsigned: np.dtype[Any]
    signed: np.dtype[Any]


@cache
def format_of(kind: np.dtype[Any]) -> Format | None:
    """The format of a floating-point type of at least 16 bits, None for every other type."""
    significand = _SIGNIFICAND.get(NAMES[kind])
    if significand is None:
        return None
    bits = 8 * kind.itemsize
    infinity = (1 << bits - 1) - (1 << significand)
    return Format(1 << bits - 1, infinity, np.dtype(f"u{kind.itemsize}"), np.dtype(f"i{kind.itemsize}"))


def is_integer(kind: np.dtype[Any]) -> bool:
    """Whether a type is one of integers; bool is not."""
    return np.dtype(WIDER.get(kind, kind)).kind in "iu"


def is_computed_with(kind: np.dtype[Any]) -> bool:
    """Whether operators compute with a type: bool, integers and floating-point numbers of whole bytes, but float8."""
    return kind == np.bool_ or (kind not in WIDER and is_integer(kind)) or format_of(kind) is not None


def is_small_float(kind: np.dtype[Any]) -> bool:
    """Whether a type is a floating-point type of at most eight bits (`small_floats.py`)."""
    return WIDER.get(kind) == np.float32


def bits_of(kind: np.dtype[Any]) -> int:
    """The bits of an integer type."""
    return SMALL_INTEGERS.get(NAMES[kind], 8 * kind.itemsize)


def limits_of(kind: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    bits = bits_of(kind)
    return (0, (1 << bits) - 1) if NAMES[kind].startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


def widened(values: Array) -> Array:
    """The same numbers in a type that numpy computes with."""
    wider = WIDER.get(values.dtype)
    return values if wider is None else values.astype(wider)


def patterns(values: Array) -> Array:
    """The bit patterns of floating-point values; elements of any other type as they are."""
    if is_small_float(values.dtype):
        return values.view(np.uint8)
    number_format = format_of(values.dtype)
    return values if number_format is None else values.view(number_format.unsigned)


@cache
def order_key(kind: np.dtype[Any]) -> Callable[[int], int]:
    """The place of a pattern in the order of its type: the integer itself, False < True, or `order.key`."""
    number_format = format_of(kind)
    if number_format is None:
        return int
    return lambda pattern: order.key(pattern, number_format.sign, number_format.infinity)


@cache
def larger(kind: np.dtype[Any]) -> Callable[[int, int], int]:
    """The larger of two patterns; of equal ones the first."""
    number_format = format_of(kind)
    if number_format is None:
        return lambda x, y: y if y > x else x
    return lambda x, y: order.maximum(x, y, number_format.sign, number_format.infinity)


def lowest(kind: np.dtype[Any]) -> int:
    """The pattern of the least value of a type: -Inf, the smallest integer, False."""
    number_format = format_of(kind)
    if number_format is not None:
        return number_format.sign + number_format.infinity
    return 0 if kind == np.bool_ else int(np.iinfo(kind).min)


MAX_AXES, MAX_BYTES = 64, 2**62
"""What a numpy array may have at most, also one without elements; memory ends before that."""


def has_array(shape: Sequence[int], kind: np.dtype[Any]) -> bool:
    """Whether numpy has arrays of a shape and type."""
    return len(shape) <= MAX_AXES and prod(max(1, extent) for extent in shape) * kind.itemsize <= MAX_BYTES
