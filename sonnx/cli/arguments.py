"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from sonnx.base.options import MAX_AMOUNT
from sonnx.base.options import amount as number_of
from sonnx.cli.options import reader


def amount_argument(what: str, least: int = 1, largest: int = MAX_AMOUNT) -> Callable[[str], int]:
    """The type of an argument whose value is a number of something, in decimal digits."""
    return reader(number_of(what, least, largest))


def add_quiet_argument(parser: argparse._ActionsContainer) -> None:
    """Add --quiet."""
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress on standard error")


def subject_of(models: Sequence[str]) -> str:
    """What a command about one or several models is about."""
    others = len(models) - 1
    return f"{models[0]} and {others} more" if others else models[0]


def with_date(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a check, with deviations as of today where no date is written."""
    today = options["deviations"] is not None and options["date"] is None
    return {**options, "date": date.today()} if today else dict(options)
