"""Which value classes an array shows, whatever made it: special values by positions, ties, two values in an order.

The names are those of `sonnx.numerics.value_classes`; classes that say how an array is filled, such as `spread`, are
not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import prod

import numpy as np

from sonnx.numerics.formats import TEXT, Array, TensorSpec, is_computed_with, widened
from sonnx.numerics.special_values import NAN, special_values
from sonnx.numerics.value_classes import PAIRS, ZEROS

ALONE, FIRST, BETWEEN, LAST, ALL = "alone", "first", "between", "last", "all"
GREATEST, LEAST, EQUAL = "greatest twice", "least twice", "all equal"

Excludes = Callable[[Array], Array]
"""Of a special value, of shape []: the elements that never have it, in row-major order; one mark stands for all."""


def recognized(spec: TensorSpec) -> tuple[str, ...]:
    """The classes that arrays of a shape and type may show."""
    shape, kind = spec
    size, names = prod(shape), special_values(kind).names
    if size == 0:
        return ()
    if size == 1:
        return tuple(f"{name} {ALONE}" for name in names)
    places = (FIRST, BETWEEN, LAST) if size > 2 else (FIRST, LAST)
    texts = [f"{name} {place}" for name in names for place in places]
    texts += [f"{ALL} {name}" for name in names]
    texts += [f"{first} before {second}" for first, second in (*ZEROS, *PAIRS) if first in names and second in names]
    return (*texts, *((GREATEST, LEAST, EQUAL) if is_computed_with(kind) else ()))


def occurring_classes(values: Array) -> frozenset[str]:
    """The classes that an array shows, of those that `recognized` lists."""
    return frozenset(_occurring(values))


def _occurring(values: Array) -> Iterator[str]:
    codes, names = _codes(values), _names_by_code(values.dtype)
    if codes.size == 0:
        return
    if codes.size == 1:
        yield from (f"{name} {ALONE}" for code in codes.tolist() if code >= 0 for name in names[code])
        return
    ends: dict[str, tuple[int, int]] = {}
    for code in np.unique(codes):
        if code < 0:
            continue
        at = np.flatnonzero(codes == code)
        for name in names[code]:
            ends[name] = int(at[0]), int(at[-1])
            if at[0] == 0:
                yield f"{name} {FIRST}"
            if at[-1] == codes.size - 1:
                yield f"{name} {LAST}"
            if ((at > 0) & (at < codes.size - 1)).any():
                yield f"{name} {BETWEEN}"
            if at.size == codes.size:
                yield f"{ALL} {name}"
    for first, second in (*ZEROS, *PAIRS):
        if first in ends and second in ends and ends[first][0] < ends[second][1]:
            yield f"{first} before {second}"
    if is_computed_with(values.dtype):
        yield from _ties(values)


@cache
def _names_by_code(kind: np.dtype[np.generic]) -> tuple[tuple[str, ...], ...]:
    """For each special value of a type the names of its number: of an unsigned type the least one is 0, too."""
    known = special_values(kind)
    keys = {name: _key(known[name][()]) for name in known.names}
    return tuple(tuple(equal for equal in known.names if keys[equal] == keys[name]) for name in known.names)


def _ties(values: Array) -> Iterator[str]:
    flat = values.reshape(-1)
    with np.errstate(invalid="ignore"):
        if not bool((flat == flat).all()):
            return
        if np.count_nonzero(flat == flat.max()) > 1:
            yield GREATEST
        if np.count_nonzero(flat == flat.min()) > 1:
            yield LEAST
        if bool((flat == flat[0]).all()):
            yield EQUAL


def _codes(values: Array) -> Array:
    """For each element in row-major order the number of the special value that it is, -1 for none."""
    known = special_values(values.dtype)
    if values.dtype == TEXT or values.dtype.kind == "c":
        numbers = {_key(value): number for number, value in enumerate(known.values)}
        return np.array([numbers.get(_key(element), -1) for element in values.reshape(-1)], np.int64)
    bits = np.dtype(f"u{values.dtype.itemsize}")
    special = np.ascontiguousarray(known.values).view(bits)
    order = np.argsort(special)
    flat = np.ascontiguousarray(values).reshape(-1).view(bits)
    places = np.minimum(np.searchsorted(special[order], flat), len(order) - 1)
    codes = np.where(special[order][places] == flat, order[places], -1)
    if NAN in known:
        wide = widened(values).reshape(-1)
        codes = np.where(np.isnan(wide), known.names.index(NAN), codes)
    return codes


def _key(value: object) -> object:
    return value if isinstance(value, str) else np.asarray(value).tobytes()


def excluded(spec: TensorSpec, excludes: Excludes) -> frozenset[str]:
    """The classes that no array shows whose elements never have some special values."""
    shape, kind = spec
    known, size = special_values(kind), prod(shape)
    texts: list[str] = []
    never = {name: np.broadcast_to(excludes(known[name]), (size,)) for name in known.names} if size else {}
    nowhere = {name for name, marks in never.items() if marks.all()}
    for name, marks in never.items():
        if size == 1:
            texts += [f"{name} {ALONE}"] * bool(marks[0])
            continue
        texts += [f"{name} {FIRST}"] * bool(marks[0]) + [f"{name} {LAST}"] * bool(marks[-1])
        texts += [f"{name} {BETWEEN}"] * bool(marks[1:-1].all()) + [f"{ALL} {name}"] * bool(marks.any())
    texts += [f"{first} before {second}" for first, second in (*ZEROS, *PAIRS) if {first, second} & nowhere]
    return frozenset(texts).intersection(recognized(spec))
