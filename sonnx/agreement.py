"""Whether two arrays hold the same values, and where the first difference is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonnx.semantics.formats import NAMES, Array, format_of, patterns


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference in row-major order, as text, and how many elements differ."""

    place: str
    found: str
    wanted: str
    number: int
    of: int


def first_difference(found: Array, wanted: Array, *, bits: bool = False) -> Difference | None:
    """Compare type, shape and elements; all NaNs are one value unless `bits` asks for every bit.

    +0 and -0 are different values.
    """
    for place, one, other in (("type", _type(found), _type(wanted)), ("shape", found.shape, wanted.shape)):
        if one != other:
            return Difference(f"in its {place}", str(_listed(one)), str(_listed(other)), found.size, found.size)
    differs = np.atleast_1d(_differing(found, wanted, bits))
    number = int(np.count_nonzero(differs))
    if not number:
        return None
    index = np.unravel_index(int(np.argmax(differs)), differs.shape)[: found.ndim]
    at = tuple(int(each) for each in index)
    return Difference(f"at {list(at)}", show(found, at), show(wanted, at), number, found.size)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _type(values: Array) -> str:
    return NAMES.get(values.dtype, str(values.dtype))


def _differing(found: Array, wanted: Array, bits: bool) -> Array:
    made = format_of(found.dtype)
    differs: Array = patterns(found) != patterns(wanted)
    if made is None or bits:
        return differs
    one, other = (values & (made.sign - 1) > made.infinity for values in (patterns(found), patterns(wanted)))
    return differs & ~(one & other)


def show(values: Array, at: tuple[int, ...]) -> str:
    """An element as its value and, for floating point, its bits."""
    made = format_of(values.dtype)
    element = values[at]
    if made is None:
        return str(element)
    return f"{element} (0x{int(patterns(values)[at]):0{2 * values.dtype.itemsize}x})"
