"""Arguments that several commands share: the options of a check, and the types of values on a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from sonnx.api import read_tailoring
from sonnx.base.errors import UsageError
from sonnx.checker.request import CheckRequest, edition_names
from sonnx.model import limits
from sonnx.model.symbols import parse_bindings, parse_input_shapes

if TYPE_CHECKING:
    from sonnx.checker.deviation_records import Deviations

BIND_HELP = "numbers for symbolic dimensions"
DATE_WITHOUT_DEVIATIONS = "--date is the date of --deviations: name the file, or leave it out"
MAX_AMOUNT = 10**9 - 1


def edition_help() -> str:
    """The help text of --edition, with all editions."""
    known, default = edition_names()
    return f"one of {', '.join(known)} (default {default})"


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a check, except the selection of rules."""
    add = parser.add_argument
    add("--edition", help=edition_help())
    add_size_arguments(parser)
    add("--tailoring", type=Path, metavar="FILE", help="a file that makes the edition stricter")
    add("--deviations", type=Path, metavar="FILE", help="a file of justified failures")
    add("--date", type=_date, metavar="DAY", help="check the deviations as of YYYY-MM-DD (default: today)")
    add("--accept-assumptions", action="store_true", help="exit 0 if only assumptions on run-time values are open")
    add("--strict-versions", action="store_true", help="accept only the operator version that a text specifies")
    add("--box", action="append", default=[], metavar="NAME=BOX",
        help="the range of an input, as for sonnx bound --input: assumptions that it shows pass")  # fmt: skip
    add_limit_argument(parser)


def add_size_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --bind and --input-shape."""
    parser.add_argument("--bind", action="append", default=[], metavar="N=1,H=224", help=BIND_HELP)
    add_input_shape_argument(parser)


def add_input_shape_argument(parser: argparse._ActionsContainer) -> None:
    """Add --input-shape."""
    parser.add_argument("--input-shape", action="append", default=[], metavar="X=1,3,224,224",
                        help="the shape of a graph input, also where the model states no number or symbol")  # fmt: skip


class Sizes(TypedDict):
    """The numbers of symbols and the shapes of graph inputs, as the public functions take them."""

    bind: dict[str, int]
    input_shapes: dict[str, tuple[int, ...]]


def sizes_of(options: argparse.Namespace) -> Sizes:
    """The values of --bind and --input-shape.

    Raises:
        UsageError: a value has another form, or a name has two values.
    """
    return {"bind": parse_bindings(options.bind), "input_shapes": parse_input_shapes(options.input_shape)}


def add_limit_argument(parser: argparse._ActionsContainer) -> None:
    """Add --limit."""
    known = ", ".join(f"{limit.name}={limit.default}" for limit in limits.LIMITS)
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=NUMBER",
        help=f"change a size limit, for example nodes=500000 (defaults: {known})",
    )  # fmt: skip


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or str(found) != text:
        raise argparse.ArgumentTypeError(f"invalid date {text!r}, expected YYYY-MM-DD")
    return found


def check_request(options: argparse.Namespace, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> CheckRequest:
    """The options of a check.

    Raises:
        UsageError: options that cannot be met.
    """
    return CheckRequest(
        options.edition, **sizes_of(options), select=tuple(select), ignore=tuple(ignore),
        strict_versions=options.strict_versions, tailoring=read_tailoring(options.tailoring),
        limits=limits.parse_limits(options.limit),
    )  # fmt: skip


def deviations_of(options: argparse.Namespace) -> tuple[Deviations, date] | None:
    """The records of --deviations and the date they are checked on.

    Raises:
        UsageError: the file is malformed, or there is a date without a file.
    """
    if options.deviations is None:
        if options.date is not None:
            raise UsageError(DATE_WITHOUT_DEVIATIONS)
        return None
    from sonnx.checker import deviation_records  # most runs have none

    return deviation_records.read(options.deviations), options.date or date.today()


def names(values: Sequence[str]) -> list[str]:
    """The names in comma-separated values."""
    return [name for value in values for name in value.split(",") if name]


def amount(what: str, least: int = 1, largest: int = MAX_AMOUNT) -> Callable[[str], int]:
    """The type of an option whose value is a number of something, in decimal digits."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
        if not digits or not least <= int(text) <= largest:
            raise argparse.ArgumentTypeError(f"a number of {what} from {least} to {largest}, not {text[:40]!r}")
        return int(text)

    return read


def with_date(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a check, with deviations as of today where no date is written."""
    today = options["deviations"] is not None and options["date"] is None
    return options | {"date": date.today()} if today else options
