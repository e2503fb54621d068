"""How the work of a check grows with the file, in steps that do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log
from random import Random
from types import FrameType
from typing import Any, TypeVar

import sonnx
from sonnx.model.limits import DEFAULT_LIMITS
from tests.support.families import FAMILIES, Family

Result = TypeVar("Result")

LARGEST_EXPONENT = 1.2
LIMITS_OF_GROWTH = {**DEFAULT_LIMITS, "findings": 33}
"""So that the smallest file reaches the limit: what it bounds does not grow further."""


LINEAR = [each for each in FAMILIES if each.steps == DEFAULT_LIMITS["steps"]]
"""The families that no limit on steps needs to bound."""


def counted(function: Callable[[], Result]) -> tuple[int, Result]:
    """The lines of Python that a call runs, each as often as it runs, and its result."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = function()
    finally:
        sys.settrace(before)
    return steps, result


def check(data: bytes, steps: int = DEFAULT_LIMITS["steps"]) -> int:
    """Check a file, render the report, and return the characters of the text."""
    try:
        report = sonnx.check(data, limits={**LIMITS_OF_GROWTH, "steps": steps})
    except sonnx.Unreadable as refused:
        return len(str(refused))
    return len(report.to_text())


def exponent(steps: Sequence[int], sizes: Sequence[int]) -> float:
    """The exponent of growth between the last two differences: what all files cost alike is left out.

    A difference of fewer than 20 steps by byte in all, or one that shrinks, has the exponent 0.
    """
    work = [after - before for before, after in pairwise(steps)]
    added = [after - before for before, after in pairwise(sizes)]
    if min(work[-2:]) <= 0 or added[-1] <= added[-2] or added[-2] <= 0:
        return 0.0
    return log(work[-1] / work[-2]) / log(added[-1] / added[-2])


def growth(files: Sequence[bytes], limit: int = DEFAULT_LIMITS["steps"]) -> tuple[float, float]:
    """The exponent of a family, and the steps by byte between its last two files."""
    check(files[0], limit)  # rules are loaded once
    steps = [counted(partial(check, data, limit))[0] for data in files]
    sizes = [len(data) for data in files]
    return exponent(steps, sizes), (steps[-1] - steps[-2]) / max(1, sizes[-1] - sizes[-2])


@dataclass(frozen=True)
class Mixture:
    """Files of several families in one: protobuf reads a row of messages as one message with all their parts."""

    parts: tuple[tuple[Family, int], ...]
    """Each with its share of the bytes."""
    exponent: float = 0.0
    steps_by_byte: float = 0.0

    def doubling(self, size: int, times: int = 3) -> list[bytes]:
        """Files from about this many bytes on, each with twice the number of the one before."""
        whole = sum(share for _, share in self.parts)
        rows = [family.doubling(size * share // whole, times) for family, share in self.parts]
        return [b"".join(files) for files in zip(*rows, strict=True)]

    def measured(self, size: int) -> Mixture:
        """The mixture with its growth."""
        return Mixture(self.parts, *growth(self.doubling(size)))

    def changed(self, draw: Random) -> Mixture:
        """One part more, or another one, or other shares."""
        kept = draw.sample(self.parts, draw.randint(1, len(self.parts)))
        return Mixture((*kept, (draw.choice(LINEAR), draw.randint(1, 4)))[-4:])

    def __str__(self) -> str:
        """The names with their shares."""
        return " + ".join(f"{share} {family.name}" for family, share in self.parts)


def mixtures(draw: Random, number: int, size: int) -> Iterator[Mixture]:
    """Random mixtures with their growth; half of them are changes of those with the most steps by byte so far."""
    best: list[Mixture] = []
    for index in range(number):
        old = draw.choice(best) if best and index % 2 else Mixture(((draw.choice(LINEAR), draw.randint(1, 4)),))
        found = old.changed(draw).measured(size)
        best = sorted([*best, found], key=lambda each: -each.steps_by_byte)[:10]
        yield found
