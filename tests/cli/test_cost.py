"""The cost of the other commands grows with the file, as that of a check does, in counted lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sonnx
from sonnx.base.errors import Stop, UsageError
from sonnx.model.reader import Unreadable, read
from tests.support.families import FAMILIES, Family
from tests.support.growth import LARGEST_EXPONENT, counted, exponent

SMALL = 700
"""Bytes of the smallest file."""


def _fix(data: bytes) -> None:
    sonnx.fix(data, samples=0)


def _equivalent(data: bytes) -> None:
    sonnx.equivalent(data, data)


def _run(data: bytes) -> None:
    sonnx.run(data, unchecked=True, seed=0)


def _bound(data: bytes) -> None:
    sonnx.bound(data, [f"{each.name}=[-1,2]" for each in read(data).graph.inputs], unchecked=True)


COMMANDS: dict[str, Callable[[bytes], None]] = {"fix": _fix, "equivalent": _equivalent, "run": _run, "bound": _bound}


def _lines(command: str, data: bytes) -> int:
    def ended() -> None:
        try:
            COMMANDS[command](data)
        except (Stop, UsageError, Unreadable):  # refused, with a sentence
            return

    return counted(ended)[0]


def growth_of(command: str, family: Family, size: int = SMALL) -> float:
    """The exponent of a family; a large one is measured again on larger files, where no fixed cost is."""
    files = family.doubling(size, 2)
    _lines(command, files[0])  # modules and rules are loaded once
    found = exponent([_lines(command, data) for data in files], [len(data) for data in files])
    return found if found < LARGEST_EXPONENT or size > SMALL else growth_of(command, family, 4 * size)


FASTER = {("fix", "calls_of_long_functions")}
"""Commands whose work is known to grow faster on a family."""


@pytest.mark.campaign
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_work_of_each_command_on_each_family(command: str, family: Family) -> None:
    if (command, family.name) in FASTER:
        pytest.xfail("it grows faster than the file: docs/robustness.md")
    assert growth_of(command, family) < LARGEST_EXPONENT
