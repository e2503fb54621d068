"""The cost of the other commands grows with what they read and write, as that of a check does, in counted lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sonnx
from sonnx.base.errors import Stop, Unreadable, UsageError
from sonnx.model.reader import read
from tests.support.families import FAMILIES, Family
from tests.support.growth import LARGEST_EXPONENT, counted, exponent

SMALL = 700
"""Bytes of the smallest file."""


def _fix(data: bytes) -> int:
    return len(sonnx.fix(data, samples=0).model_bytes())


def _equivalent(data: bytes) -> None:
    sonnx.equivalent(data, data)


def _run(data: bytes) -> None:
    sonnx.run(data, unchecked=True, seed=0)


def _bound(data: bytes) -> None:
    sonnx.bound(data, [f"{each.name}=[-1,2]" for each in read(data).graph.inputs], unchecked=True)


COMMANDS: dict[str, Callable[[bytes], int | None]] = {
    "fix": _fix,
    "equivalent": _equivalent,
    "run": _run,
    "bound": _bound,
}
"""What each command does with a file, and the bytes it writes where these can be many more than it reads."""


def _lines(command: str, data: bytes) -> tuple[int, int]:
    """The lines that a command runs, and the bytes it reads and writes."""

    def written() -> int:
        try:
            return COMMANDS[command](data) or 0
        except (Stop, UsageError, Unreadable):  # refused, with a sentence
            return 0

    lines, more = counted(written)
    return lines, len(data) + more


def growth_of(command: str, family: Family, size: int = SMALL) -> float:
    """The exponent of a family; a large one is measured again on larger files, where no fixed cost is."""
    files = family.doubling(size, 2)
    _lines(command, files[0])  # modules and rules are loaded once
    found = exponent(*zip(*[_lines(command, data) for data in files], strict=True))
    return found if found < LARGEST_EXPONENT or size > SMALL else growth_of(command, family, 4 * size)


@pytest.mark.campaign
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_work_of_each_command_on_each_family(command: str, family: Family) -> None:
    assert growth_of(command, family) < LARGEST_EXPONENT
