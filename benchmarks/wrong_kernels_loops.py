"""Mistakes of loops: of vectors and what is left over, of tiles, alignment, threads, batches and indices.

Each is applied to what is read of every input and to what is written of every output, as those of
`benchmarks/wrong_kernels_mistakes.py` are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.wrong_kernels_mistakes import (
    Change,
    Mistake,
    every,
    flat,
    floats,
    infinite,
    integers,
    isnan,
    largest,
    nothing,
    only,
    rest_of,
    subnormal,
    through,
    where,
    zero,
)  # fmt: skip
from sonnx.numerics.formats import Array

TILE = 64
"""Elements of a tile that is computed at a time."""
PARALLEL = 4096
"""Elements from which on several threads share the work."""
THREADS = 4


def vectors_of(lanes: int, inner: Change) -> Change:
    """A change of whole vectors of some lanes, as rows, in row-major order."""

    def change(values: Array) -> Array:
        whole = len(values) // lanes * lanes
        return np.concatenate([inner(values[:whole].reshape(-1, lanes)).reshape(-1), values[whole:]])

    return flat(change, lanes)


def columns(lanes: Array | list[int]) -> Change:
    """The lanes of each vector in another order."""
    return lambda vectors: vectors[:, lanes]


def by_index(source: Callable[[Array], Array], least: int) -> Change:
    """Elements are read at another place in row-major order, if there are enough of them."""
    return flat(lambda values: values[source(np.arange(len(values)))], least)


def axis_change(axis: int, least: int, marks: Callable[[int, Array], Array], inner: Change) -> Change:
    """A change of the marked places of an axis, if it is long enough.

    Args:
        axis: the first (0) or the last one (-1).
        least: the extent.
        marks: which places are changed, from the extent and the places.
        inner: the change.
    """

    def change(values: Array) -> Array:
        if not values.ndim or values.shape[axis] < least:
            return values
        marked = marks(values.shape[axis], np.arange(values.shape[axis]))
        index = (marked,) if axis == 0 else (..., marked)
        output = values.copy()
        output[index] = inner(output[index])
        return output

    return change


def aligned_down(values: Array) -> Array:
    """Each row but the first is read from the last multiple of four elements before it."""
    extent = values.shape[-1] if values.ndim else 0
    if values.ndim < 2 or not values.size or extent < 4:
        return values
    numbers = np.arange(values.size)
    return values.reshape(-1)[numbers - numbers // extent * extent % 4].reshape(values.shape)


def tf32(values: Array) -> Array:
    """The last 13 bits of a float are 0."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


LOST_NAN = where(isnan, -np.inf)
IN_ORDER = np.arange(8)
LOOPS = (
    Mistake("lane", "the halves of each vector of 8 exchanged", every, vectors_of(8, columns((IN_ORDER + 4) % 8))),
    Mistake("lane", "pairs in each vector of 8 exchanged", every, vectors_of(8, columns(IN_ORDER ^ 1))),
    Mistake("lane", "the last lane of 16 as the one before", every, vectors_of(16, columns([*range(15), 14]))),
    Mistake("lane", "subnormal numbers in whole vectors of 8 as 0", floats, vectors_of(8, where(subnormal, 0.0))),
    Mistake("lane", "-0 in whole vectors of 4 as +0", floats, vectors_of(4, where(zero, 0.0))),
    Mistake("lane", "double in whole vectors of 4 through float", only("double"), vectors_of(4, through("float"))),
    Mistake("lane", "an infinity in the rest after 8 lanes as the largest number", floats, rest_of(8, where(
        infinite, largest))),
    Mistake("lane", "a NaN in an even place of the last axis as -inf", floats, axis_change(
        -1, 2, lambda extent, places: places % 2 == 0, LOST_NAN)),
    Mistake("lane", "a NaN before the last place of the last axis as -inf", floats, axis_change(
        -1, 2, lambda extent, places: places < extent - 1, LOST_NAN)),
    Mistake("tile", f"tiles of {TILE} overlap by one element", every, by_index(
        lambda place: place - (place >= TILE), TILE + 1)),
    Mistake("tile", f"the second tile of {TILE} as the first", every, by_index(
        lambda place: np.where(place // TILE == 1, place - TILE, place), TILE + 1)),
    Mistake("tile", f"nothing in the rest after tiles of {TILE}", every, rest_of(TILE, nothing)),
    Mistake("tile", "nothing behind 128 columns", every, axis_change(
        -1, 129, lambda extent, places: places >= 128, nothing)),
    Mistake("alignment", "nothing in the last column if there is a multiple of 16", every, axis_change(
        -1, 16, lambda extent, places: (places == extent - 1) & (extent % 16 == 0), nothing)),
    Mistake("alignment", "nothing in the first column if there is an odd number of 7 or more", every, axis_change(
        -1, 7, lambda extent, places: (places == 0) & (extent % 2 == 1), nothing)),
    Mistake("alignment", "rows begin at a multiple of four elements", every, aligned_down),
    Mistake("index", "an index of 16 bits", every, by_index(lambda place: place & 0xFFFF, 2**16 + 1)),
    Mistake("index", "nothing behind 2^15 elements", every, by_index(
        lambda place: np.where(place < 2**15, place, place - 2**15), 2**15 + 1)),
    Mistake("thread", "the rest after a division among threads left out", every, flat(lambda values: np.concatenate([
        values[: len(values) // THREADS * THREADS], nothing(values[len(values) // THREADS * THREADS :])]), PARALLEL)),
    Mistake("thread", "the first element of each thread as the one before", every, flat(lambda values: values[
        np.maximum(np.arange(len(values)) - (np.arange(len(values)) % -(-len(values) // THREADS) == 0), 0)], PARALLEL)),
    Mistake("thread", "nothing in the second half of many elements", every, flat(lambda values: np.concatenate([
        values[: len(values) // 2], nothing(values[len(values) // 2 :])]), 50_000)),
    Mistake("batch", "nothing behind 16 rows", every, axis_change(
        0, 17, lambda extent, places: places >= 16, nothing)),
    Mistake("batch", "nothing in the last row of an odd number", every, axis_change(
        0, 3, lambda extent, places: (places == extent - 1) & (extent % 2 == 1), nothing)),
    Mistake("batch", "the second row as the first", every, lambda values: values[
        np.where(np.arange(len(values)) == 1, 0, np.arange(len(values)))] if values.ndim else values),
    Mistake("width", "float through float16", only("float"), through("float16")),
    Mistake("width", "float cut to 19 bits", only("float"), tf32),
    Mistake("width", "bfloat16 through float8", only("bfloat16", "float16"), through("float8e5m2")),
    Mistake("width", "the upper 32 bits of int64 only", only("int64"), lambda values: values >> 32 << 32),
    Mistake("width", "the lower 32 bits of int64 without sign", only("int64"), lambda values: values & 0xFFFFFFFF),
    Mistake("saturation", "integers of 8 bits limited to 7 bits", only("int8", "uint8"), lambda values: np.clip(
        values, -64 if values.dtype == np.int8 else 0, 63 if values.dtype == np.int8 else 127)),
    Mistake("sign", "the bit of the sign flipped in the rest after 8 lanes", integers, rest_of(8, lambda values: (
        values ^ np.array(1 << 8 * values.dtype.itemsize - 1, f"u{values.dtype.itemsize}").view(values.dtype)))),
    Mistake("lane", "the two numbers of a byte exchanged", only("int4", "uint4"), vectors_of(2, columns([1, 0]))),
)  # fmt: skip
"""Mistakes of loops."""
