"""Best-first search over the parts of a whole, tried on intervals of integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pytest

from sonnx.supervise.search import Frontier, PartState, SearchLimit, search

Part = tuple[int, int]
"""The integers from the first number to below the second one."""
LATER, BEFORE = SearchLimit(), SearchLimit(end=0.0)


class Intervals:
    """Finds some numbers: an interval without one is decided, and one number cannot be divided."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.divided: list[Part] = []

    def state(self, part: Part) -> PartState:
        return PartState.OPEN if any(part[0] <= number < part[1] for number in self.numbers) else PartState.DECIDED

    def rank(self, part: Part) -> int:
        return part[0] - part[1]

    def divide(self, parts: Iterable[Part]) -> Iterator[tuple[Part, Sequence[Part] | None]]:
        for part in parts:
            self.divided.append(part)
            middle = sum(part) // 2
            yield part, [(part[0], middle), (middle, part[1])] if part[0] < middle else None


def require_whole(frontier: Frontier[Part], end: int = 64) -> None:
    assert sorted(number for part in frontier.parts for number in range(*part)) == [*range(end)]


def test_the_search_ends_where_nothing_is_open() -> None:
    problem = Intervals(5, 40)
    frontier = Frontier(problem, [(0, 64)])
    search(frontier, LATER)
    assert sorted(frontier.stuck) == [(5, 6), (40, 41)]
    assert not frontier.open
    require_whole(frontier)
    sizes = [part[1] - part[0] for part in problem.divided]
    assert sizes == sorted(sizes, reverse=True), "the best part is first"


def test_of_equal_ranks_the_oldest_is_first() -> None:
    problem = Intervals(*range(8))
    search(Frontier(problem, [(4, 8), (0, 4)]), LATER)
    assert problem.divided[:6] == [(4, 8), (0, 4), (4, 6), (6, 8), (0, 2), (2, 4)]


@pytest.mark.parametrize("at_least", [0, 1, 5])
def test_no_part_is_taken_after_the_time(at_least: int) -> None:
    problem = Intervals(*range(64))
    frontier = Frontier(problem, [(0, 32), (32, 64)])
    search(frontier, BEFORE, at_least=at_least)
    assert len(problem.divided) == at_least
    require_whole(frontier)


@pytest.mark.parametrize(("parts", "at_least"), [(0, 0), (0, 5), (3, 0), (3, 2), (3, 5)])
def test_no_more_parts_are_taken_than_the_limit_states(parts: int, at_least: int) -> None:
    problem = Intervals(*range(64))
    frontier = Frontier(problem, [(0, 32), (32, 64)])
    search(frontier, SearchLimit(parts=parts), at_least=at_least)
    assert len(problem.divided) == parts
    require_whole(frontier)


def test_at_least_is_about_the_parts_that_are_open_at_first() -> None:
    problem = Intervals(*range(64))

    def all_at_once(parts: Iterable[Part]) -> Iterator[tuple[Part, Sequence[Part] | None]]:
        iterator = iter(parts)
        while batch := [*iterator]:
            yield from problem.divide(batch)

    frontier = Frontier(problem, [(0, 64)])
    search(frontier, BEFORE, divide=all_at_once, at_least=9)
    assert problem.divided == [(0, 64)]
    require_whole(frontier)


def test_divisions_are_kept_in_order_and_told() -> None:
    problem, kept, told = Intervals(7), list[Part](), list[int]()
    frontier = Frontier(problem, [(0, 64)])
    search(frontier, LATER, keep=lambda part, _: kept.append(part), progress=lambda: told.append(len(kept)), every=3)
    assert kept == problem.divided
    assert told == [3, 6]


def test_parts_that_are_being_divided_at_an_error_stay_open() -> None:
    """Other processes have several, and answer in any order."""
    problem = Intervals(*range(64))

    def elsewhere(parts: Iterable[Part]) -> Iterator[tuple[Part, Sequence[Part] | None]]:
        iterator = iter(parts)
        running = [next(iterator), next(iterator), next(iterator)]
        yield from problem.divide([running.pop(1)])
        raise RuntimeError("the others are lost")

    frontier = Frontier(problem, [(0, 16), (16, 32), (32, 64)])
    with pytest.raises(RuntimeError, match="the others are lost"):
        search(frontier, LATER, divide=elsewhere)
    assert len(frontier.parts) == 4
    require_whole(frontier)


def test_a_search_goes_on_from_its_parts() -> None:
    whole = Frontier(Intervals(9, 50), [(0, 64)])
    search(whole, LATER)
    stopped = Frontier(Intervals(9, 50), [(0, 64)])
    while stopped.open:
        stopped = Frontier(Intervals(9, 50), stopped.open + stopped.decided + stopped.stuck)
        search(stopped, BEFORE, at_least=1)
        if not any(part[1] - part[0] > 1 for part in stopped.open):
            break
    assert {*whole.parts} == {*stopped.parts}
