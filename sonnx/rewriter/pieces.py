"""Values that consist of other values, one behind the other in the order of their elements.

Where a node joins values and a later one cuts the same parts out, the parts are taken as they are: a Slice of a whole
piece is the piece in another shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from types import MappingProxyType
from typing import NamedTuple, TypeAlias


class WholeValue(NamedTuple):
    """A whole value, and how many elements it has."""

    name: str
    size: int


Pieces: TypeAlias = tuple[WholeValue, ...]
MOST_PIECES = 256
"""A value of more pieces counts as a whole one: values joined with themselves have twice as many each time."""
NO_PIECES: Mapping[str, Pieces] = MappingProxyType({})


def joined(parts: Iterable[Pieces]) -> Pieces:
    """The pieces of values one behind the other, none where they are too many."""
    found: list[WholeValue] = []
    for pieces in parts:
        if len(found) + len(pieces) > MOST_PIECES:
            return ()
        found += pieces
    return tuple(found)


def part_of(pieces: Pieces, shape: Iterable[int], axis: int, span: tuple[int, int]) -> Pieces:
    """The pieces that a cut of an axis selects; none where it does not select whole pieces that follow each other."""
    extents = tuple(shape)
    if prod(extents[:axis]) != 1:
        return ()
    inner = prod(extents[axis + 1 :])
    begin, end = span[0] * inner, span[1] * inner
    found, at = [], 0
    for piece in pieces:
        if begin <= at and at + piece.size <= end:
            found.append(piece)
        at += piece.size
    return tuple(found) if sum(piece.size for piece in found) == end - begin else ()
