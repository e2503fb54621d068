"""The options of a verdict, which several commands share, and what they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonnx.checker.deviations import Deviations
from collections.abc import Callable

from sonnx.base.errors import UsageError
from sonnx.checker.request import CheckRequest
from sonnx.model import limits
from sonnx.model.symbols import bindings
from sonnx.profile import catalogue


def edition_help() -> str:
    """The editions there are."""
    known = catalogue.editions()
    return f"one of {', '.join(known.editions)} (default {known.default})"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what is asked of a model, but for a choice of rules."""
    parser.add_argument("--edition", default=None, help=edition_help())
    parser.add_argument(
        "--bind", action="append", default=[], metavar="N=1,H=224", help="judge for these values of symbolic dimensions"
    )
    parser.add_argument(
        "--tailoring", type=Path, default=None, metavar="FILE", help="a file that makes the edition stricter"
    )
    parser.add_argument("--deviations", type=Path, default=None, metavar="FILE", help="a file of justified failures")
    parser.add_argument(
        "--date", type=_day, default=None, metavar="DAY", help="judge deviations as of YYYY-MM-DD (default: today)"
    )
    parser.add_argument(
        "--accept-assumptions", action="store_true", help="exit 0 where only assumptions on run-time values are open"
    )
    parser.add_argument(
        "--strict-versions", action="store_true", help="admit only the operator version a text specifies"
    )
    limits.add_argument(parser)


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2027-03-31") from None
    if str(found) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2027-03-31")
    return found


def asked(options: argparse.Namespace, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> CheckRequest:
    """What the options ask of each model.

    Raises:
        Misuse: where they cannot be met.
    """
    own = None
    if options.tailoring is not None:
        from sonnx.checker import tailoring  # most runs have none

        own = tailoring.read(options.tailoring)
    return CheckRequest(
        options.edition,
        bindings(options.bind),
        tuple(select),
        tuple(ignore),
        options.strict_versions,
        own,
        limits.limits_of(options.limit),
    ).checked()


def deviations(options: argparse.Namespace) -> tuple[Deviations, date] | None:
    """The records of the options and the day they are judged on.

    Raises:
        Misuse: where the file is malformed, or a day is given for no file.
    """
    if options.deviations is None:
        if options.date is not None:
            raise UsageError("--date is the day deviations are judged on; there is no --deviations")
        return None
    from sonnx.checker import deviations as justified  # most runs have none

    return justified.read(options.deviations), options.date or date.today()


def names(values: Sequence[str]) -> list[str]:
    """The names in comma-separated values."""
    return [name for value in values for name in value.split(",") if name]


# ------------------------------------------------------------------
# Whole numbers on a command line.


LARGEST = 10**9 - 1


def amount(what: str, least: int = 1, largest: int = LARGEST) -> Callable[[str], int]:
    """The type of an option that takes a number of something, in decimal digits."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
        if not digits or not least <= int(text) <= largest:
            raise argparse.ArgumentTypeError(f"a number of {what} from {least} to {largest}, not {text[:40]!r}")
        return int(text)

    return read
