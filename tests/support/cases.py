"""How many cases a test takes, and many cases as one test.

`make test` takes a part of the long lists of cases; `make deep` sets SONNX_DEEP and takes all.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")

DEEP = "SONNX_DEEP" in os.environ
"""Whether tests take all their cases."""


def spread(cases: Iterable[Case], number: int) -> list[Case]:
    """This many of the cases (at least 2), evenly spread, the first and the last among them; in a deep run all."""
    found = list(cases)
    if DEEP or len(found) <= number:
        return found
    return [found[place * (len(found) - 1) // (number - 1)] for place in range(number)]


def first_of_each(cases: Iterable[Case], kind: Callable[[Case], Hashable]) -> list[Case]:
    """The first case of each kind; in a deep run all."""
    listed = list(cases)
    return listed if DEEP else list({kind(case): case for case in reversed(listed)}.values())[::-1]


def examples(number: int, deep: int) -> int:
    """How many examples a property is tried on: the first number, in a deep run the second."""
    return deep if DEEP else number


def crossed(*lists: Iterable[Any], every: int) -> list[tuple[Any, ...]]:
    """One item of each list in every way; in a run that is not deep so many times fewer, spread over all the lists.

    Each item occurs if two of the lists have this many items.
    """
    numbered = itertools.product(*(list(enumerate(each)) for each in lists))
    return [tuple(item for _, item in row) for row in numbered if DEEP or sum(place for place, _ in row) % every == 0]


def each_case(
    names: str | Sequence[str],
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], Any] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As pytest.mark.parametrize, but one test, which names all cases that fail: for cheap cases without own fixtures.

    A test of thousands of items spends most of its time between them.  A function makes the cases when the test runs.
    """
    arguments = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    listed = [] if callable(cases) else list(cases)
    told = list(ids) if isinstance(ids, Iterable) else None

    def name_of(place: int, row: Sequence[Any]) -> str:
        return told[place] if told else "-".join(str((ids if callable(ids) else repr)(each)) for each in row)

    def combined(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tested(*drawn: Any, **fixtures: Any) -> None:
            fixtures |= {each.name: value for each, value in zip(kept, drawn, strict=False)}
            rows = [[each] if len(arguments) == 1 else list(each) for each in (cases() if callable(cases) else listed)]
            failures: list[BaseException] = []
            skipped: list[BaseException] = []
            for place, values in enumerate(rows):
                try:
                    test(**fixtures, **dict(zip(arguments, values, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001  # all failures are reported
                    failure.add_note(f"case: {name_of(place, values)}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} cases failed", failures)
            if len(skipped) == len(rows):
                raise skipped[0] if skipped else pytest.skip.Exception("no case")

        left: Mapping[str, inspect.Parameter] = inspect.signature(test).parameters
        kept = [each for name, each in left.items() if name not in arguments]
        tested.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        return tested

    return combined
