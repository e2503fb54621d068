"""Frozen data that are compared by a part of their fields."""

from __future__ import annotations

from msgspec import Struct


class ComparedInPart(Struct, frozen=True):
    """Objects of one class are equal if their `compared` values are; other fields follow from these, or are long."""

    def compared(self) -> tuple[object, ...]:
        """The fields that are compared and hashed."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.compared() == other.compared())

    def __hash__(self) -> int:
        return hash(self.compared())
