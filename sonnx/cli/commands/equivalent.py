"""`sonnx equivalent`: its arguments; numpy and the rest are loaded when models are compared."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.api import DEFAULT_HYPOTHESES, equivalent, hypotheses_names
from sonnx.base.escaping import escape
from sonnx.base.files import deliver, require_empty, say_written, write_folder
from sonnx.base.progress import clock
from sonnx.cli.arguments import add_limit_argument, add_size_arguments, amount, sizes_of
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.model.limits import parse_limits
from sonnx.report.formats import RESULT_FORMATS

HELP = "are two models the same function?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="FIRST", help="a model file")
    add("second", metavar="SECOND", help="the model file it is compared with")
    add("--identical", action="store_true", help="exit 1 unless the exact values are equal bit for bit")
    add("--map", action="append", default=[], metavar="OLD=NEW", help="pairs inputs and outputs with other names")
    add("--box", action="append", default=[], metavar="NAME=[LOW,HIGH]",
        help="the range of an input: bounds the difference of two implementations")  # fmt: skip
    known = ", ".join(hypotheses_names())
    add("--hypotheses", default=DEFAULT_HYPOTHESES, metavar="NAME", help=f"about implementations: {known}, or a file")
    add("--random", type=amount("sets of inputs", least=0), default=8, metavar="N",
        help="generated sets of inputs on which undecided models run (default 8)")  # fmt: skip
    add("--witness", type=Path, metavar="DIR",
        help="a new folder for the input on which the models differ: NAME.npy for each graph input")  # fmt: skip
    add("--edition", help="the edition whose texts define the operators")
    add("--format", choices=RESULT_FORMATS, default="text", help="the format of the report")
    add("--output", type=Path, metavar="FILE", help="write the report to a file")
    add_size_arguments(parser)
    add_limit_argument(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=equivalent_command)


@within_budget("compared")
def equivalent_command(options: argparse.Namespace) -> int:
    """Compare and print: 0 for the same function, 1 for different ones, 2 for bad input, 3 where neither is known."""
    if options.witness is not None:
        require_empty(options.witness, "older input")
    with clock(f"comparing {options.model} and {options.second}"):
        found = equivalent(
            options.model, options.second, options.edition, renamed=options.map, box=options.box,
            hypotheses=options.hypotheses, identical=options.identical, runs=options.random,
            limits=parse_limits(options.limit), **sizes_of(options),
        )  # fmt: skip
    if options.witness is not None:
        files = found.witness_files()
        if files:
            write_folder(options.witness, files)
            say_written(options.witness)
        else:
            sys.stderr.write(f"{escape(str(options.witness))} is not written: no input is known that differs\n")
    deliver(found.to_format(options.format), options.output)
    return found.exit_code
