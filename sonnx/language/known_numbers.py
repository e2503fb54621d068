"""Lists of known numbers: what a condition asks of each is answered once for those it cannot tell apart.

A constant of a model may have 262,144 elements, and many nodes may read it.  What the list is asked (the same list?
which numbers? where first?) is computed once for each list, by functions of Python that run at the speed of memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

Number = int | float | Fraction
LONG = 32
"""Numbers of a list whose hash takes more time than remembering it."""


class KnownNumbers(tuple[int | float, ...]):
    """A list of which every item is a known number."""

    def __hash__(self) -> int:
        """That of the tuple, of a long list computed once: many calls may read it."""
        return tuple.__hash__(self) if len(self) < LONG else self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    @cached_property
    def whole(self) -> bool:
        """Whether every item is a whole number."""
        return set(map(type, self)) <= {int}

    @staticmethod
    def are_whole(items: Sequence[int | float]) -> bool:
        """Whether every item of a list is a whole number."""
        return items.whole if isinstance(items, KnownNumbers) else all(type(item) is int for item in items)

    @cached_property
    def _first(self) -> dict[int | float, int]:
        """The first index of each different number; NaN, which no order has a place for, is left out."""
        first_index = dict(zip(reversed(self), range(len(self) - 1, -1, -1), strict=True))
        return (
            first_index if self.whole else {number: index for number, index in first_index.items() if number == number}
        )

    @cached_property
    def _nan(self) -> int | None:
        if self.whole:
            return None
        return next((index for index, number in enumerate(self) if number != number), None)

    @cached_property
    def _sorted(self) -> list[int | float]:
        return sorted(self._first)

    @cached_property
    def _indices(self) -> list[int]:
        """The first indices, by size of the numbers."""
        return [self._first[number] for number in self._sorted]

    @cached_property
    def _up_to(self) -> list[int]:
        """The least of the first indices so far, from the least number on."""
        return list(accumulate(self._indices, min))

    @cached_property
    def _from(self) -> list[int]:
        """The least of the first indices from each number on."""
        return list(accumulate(reversed(self._indices), min))[::-1]

    def representatives(self, edges: Iterable[Number]) -> tuple[list[int], int]:
        """The first index of each class of numbers that comparisons with `edges` cannot tell apart, in order.

        Two numbers are of one class if they compare alike with each edge: both are the edge, or lie on one side of it.

        Returns:
            the indices, and how many items were looked at between edges.
        """
        numbers, looked_at, indices = self._sorted, 0, [] if self._nan is None else [self._nan]
        start = 0
        for edge in sorted(set(edges)):
            left = bisect_left(numbers, edge)
            right = bisect_right(numbers, edge)
            if start < left:
                indices.append(self._up_to[left - 1] if start == 0 else min(self._indices[start:left]))
                looked_at += 0 if start == 0 else left - start
            if left < right:
                indices.append(self._indices[left])
            start = right
        if start < len(numbers):
            indices.append(self._from[start])
        return sorted(indices), looked_at


def known_numbers(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items, as `KnownNumbers` if every one is a whole number."""
    return KnownNumbers(items) if set(map(type, items)) <= {int} else items
