"""Best-first search over the parts of a whole: the part that comes first is divided, until nothing is open.

A `Problem` says what is divided: parts of a box that show a bound, a property, or nothing yet.  Parts may be divided in
this process or in others, and each division may be kept, so that an interrupted search goes on where it stopped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import count
from math import inf
from time import monotonic
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sonnx.base.budget import milliseconds_left

P = TypeVar("P")
SHARE_OF_TIME = 0.8
"""The part of the time left to the command that a search may take."""


def seconds_of_command() -> float:
    """The seconds that a search may take of the time that is left to the command."""
    left = milliseconds_left()
    return inf if left is None else SHARE_OF_TIME * left / 1000


def shorter_time(option: str, seconds: float) -> str:
    """What ends a search that begins now: an option that states its time, or the time of the command."""
    return "the time of the command (--timeout)" if seconds_of_command() < seconds else f"{option} {seconds:g} s"


class SearchLimit(NamedTuple):
    """Where a search ends: after a time, after a number of parts, or whichever comes first."""

    end: float = inf
    """The time, as `monotonic` has it, after which no part is taken."""
    parts: int | None = None
    """How many parts are taken; the result then does not depend on the speed of the machine."""

    @classmethod
    def after(cls, seconds: float, parts: int | None = None) -> SearchLimit:
        """The limit that many seconds from now; a time limit of the command leaves time to report what was found."""
        return cls(monotonic() + min(seconds, seconds_of_command()), parts)

    @property
    def seconds(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.end - monotonic())

    @property
    def is_reached(self) -> bool:
        """Whether no part may be taken."""
        return self.parts == 0 or monotonic() >= self.end

    def share(self, part: float) -> SearchLimit:
        """The limit at a part, from 0 to 1, of what is left."""
        return SearchLimit.after(self.seconds * part, None if self.parts is None else int(self.parts * part))

    def less(self, parts: int) -> SearchLimit:
        """The limit after a number of parts was taken."""
        return self if self.parts is None else self._replace(parts=max(0, self.parts - parts))


class PartState(Enum):
    """What the search does with a part."""

    OPEN = "to be divided"
    DECIDED = "never to be divided"
    STUCK = "not decided, and cannot be divided"


class Problem(Protocol[P]):
    """What is searched for."""

    def state(self, part: P) -> PartState:
        """What is to be done with a part."""
        ...

    def rank(self, part: P) -> Any:
        """The place of an open part: the least rank is divided first, of equal ranks the oldest part."""
        ...

    def divide(self, parts: Iterable[P]) -> Iterable[tuple[P, Sequence[P] | None]]:
        """Each part with the parts that take its place; None if it cannot be divided.

        Parts are taken when there is room for them, and in this order they come from the search; they may end and go
        on, because the parts that take the place of one are parts, too.  The search is over when this ends.
        """
        ...


class Frontier(Generic[P]):
    """The parts of a whole by their states."""

    def __init__(self, problem: Problem[P], parts: Iterable[P]) -> None:
        self.problem = problem
        self.decided: list[P] = []
        self.stuck: list[P] = []
        self._order = count()
        self._open: list[tuple[Any, int, P]] = []
        for part in parts:
            self._sort(part, self._open.append)
        heapq.heapify(self._open)

    @property
    def open(self) -> list[P]:
        """The parts to divide, the next one first, the others in no particular order."""
        return [part for *_, part in self._open]

    @property
    def parts(self) -> list[P]:
        """All parts."""
        return [*self.decided, *self.stuck, *self.open]

    def add(self, part: P) -> None:
        """Add a part."""
        self._sort(part, lambda entry: heapq.heappush(self._open, entry))

    def take(self) -> P | None:
        """The part to divide next, taken out; None if none is open."""
        return heapq.heappop(self._open)[2] if self._open else None

    def replace(self, part: P, parts: Sequence[P] | None) -> None:
        """Record what took the place of a part that was taken out; None if it cannot be divided."""
        if parts is None:
            self.stuck.append(part)
        for each in parts or ():
            self.add(each)

    def _sort(self, part: P, push: Callable[[tuple[Any, int, P]], None]) -> None:
        match self.problem.state(part):
            case PartState.DECIDED:
                self.decided.append(part)
            case PartState.STUCK:
                self.stuck.append(part)
            case PartState.OPEN:
                push((self.problem.rank(part), next(self._order), part))


class _Taken(Generic[P]):
    """The parts to divide next, up to a limit; each is kept here until it is known what takes its place."""

    def __init__(self, frontier: Frontier[P], limit: SearchLimit, at_least: int) -> None:
        self.frontier, self.limit, self.at_least = frontier, limit, at_least
        self.running: dict[int, P] = {}

    def __iter__(self) -> Iterator[P]:
        return self

    def __next__(self) -> P:
        self.at_least -= 1
        goes_on = self.limit.parts != 0 if self.at_least >= 0 else not self.limit.is_reached
        part = self.frontier.take() if goes_on else None
        if part is None:
            self.at_least = 0
            raise StopIteration
        self.limit = self.limit.less(1)
        self.running[id(part)] = part
        return part


def search(
    frontier: Frontier[P],
    limit: SearchLimit,
    *,
    divide: Callable[[Iterable[P]], Iterable[tuple[P, Sequence[P] | None]]] | None = None,
    at_least: int = 0,
    keep: Callable[[P, Sequence[P] | None], None] = lambda part, parts: None,
    progress: Callable[[], None] = lambda: None,
    every: int = 1,
) -> None:
    """Divide the parts of a frontier until none is open, the limit is reached, or the problem ends the search.

    Parts that are being divided when an error ends the search stay open.

    Args:
        frontier: the parts, which are replaced.
        limit: after which no part is taken.
        divide: divides parts in place of the problem, in other processes.
        at_least: how many parts are taken at first, if so many are open, whatever the time.
        keep: called with each part and what took its place, before another one is divided.
        progress: called after each `every` divisions.
        every: see `progress`.
    """
    taken = _Taken(frontier, limit, at_least)
    try:
        for number, (part, parts) in enumerate((divide or frontier.problem.divide)(taken), 1):
            del taken.running[id(part)]
            frontier.replace(part, parts)
            keep(part, parts)
            if number % every == 0:
                progress()
    finally:
        for part in taken.running.values():
            frontier.add(part)
