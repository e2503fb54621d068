"""`sonnx diff`: its arguments; numpy and the rest are loaded when models are compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.api import diff
from sonnx.base.files import deliver
from sonnx.base.progress import clock
from sonnx.cli.arguments import add_limit_argument, add_size_arguments, amount, edition_help, sizes_of
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.model.limits import parse_limits
from sonnx.report.formats import DRAWN, RESULT_FORMATS

HELP = "what changed between two models, and which evidence stands?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="FIRST", help="a model file")
    add("second", metavar="SECOND", help="the model file it became")
    add("--map", action="append", default=[], metavar="OLD=NEW", help="pairs inputs and outputs with other names")
    add("--random", type=amount("sets of inputs", least=0), default=8, metavar="N",
        help="generated sets of inputs on which undecided models run (default 8)")  # fmt: skip
    add("--edition", help=edition_help())
    add("--format", choices=RESULT_FORMATS, default="text", help="the format of the report")
    add("--output", type=Path, metavar="FILE", help="write the report to a file")
    add_size_arguments(parser)
    add_limit_argument(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=diff_command)


@within_budget("compared")
def diff_command(options: argparse.Namespace) -> int:
    """Compare and print: 0 where nothing changed, 1 where something did, 2 for bad input."""
    with clock(f"comparing {options.model} and {options.second}"):
        changes = diff(
            options.model, options.second, options.edition, renamed=options.map, runs=options.random,
            drawn=options.format in DRAWN, limits=parse_limits(options.limit), **sizes_of(options),
        )  # fmt: skip
    deliver(changes.to_format(options.format), options.output)
    return changes.exit_code
