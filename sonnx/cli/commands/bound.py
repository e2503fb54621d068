"""`sonnx bound`: its arguments; numpy and the rest are loaded when a model is bounded."""

from __future__ import annotations

import argparse
import math
import re
from contextlib import nullcontext
from pathlib import Path

from sonnx.api import bound
from sonnx.base.errors import UsageError
from sonnx.base.files import deliver, say_written
from sonnx.base.progress import StatusLine, clock
from sonnx.checker.report import NotConforming
from sonnx.cli.arguments import amount, sizes_of
from sonnx.cli.budget import add_value_arguments, not_conforming, within_budget
from sonnx.model.limits import parse_limits
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES as DEFAULT
from sonnx.numerics.enclosures.options import hypotheses_names
from sonnx.report.formats import RESULT_FORMATS

HELP = "bound the ranges of values and the errors of implementations"


DIFFERENCE = re.compile(r"(\d{1,9})-(\d{1,9})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("--input", action="append", default=[], metavar="NAME=BOX",
        help="the range of an input: [LOW,HIGH], FILE.npy, LOW.npy:HIGH.npy or FILE.npy+-RADIUS")  # fmt: skip
    known = ", ".join(hypotheses_names())
    add("--hypotheses", default=DEFAULT, metavar="NAME",
        help=f"about the implementation: {known}, or a .toml file (default {DEFAULT})")  # fmt: skip
    add("--every-node", action="store_true", help="show every value, not only the outputs")
    add("--difference", action="append", default=[], metavar="I-J",
        help="is the order of the elements I and J of the first output the same in every implementation?")  # fmt: skip
    add("--argmax", action="store_true", help="is the largest element of the first output the same?")
    add("--max-error", type=_positive, metavar="E", help="exit 3 unless the output's error is at most E")
    add("--split", type=_positive, metavar="SECONDS", help="halve the box for so long, until all is shown")
    add("--jobs", type=amount("processes"), default=1, metavar="N", help="processes that halve the box (default 1)")
    add("--cluster", metavar="ADDRESS", help="halve it on the Dask cluster with this scheduler")
    add("--resume", type=Path, metavar="FILE", help="keep the parts of the box in FILE, and go on from those it has")
    add("--format", choices=(*RESULT_FORMATS, "npz"), default="text",
        help="the format of the report (npz: all bounds)")  # fmt: skip
    add("--output", type=Path, metavar="FILE", help="write the report to a file")
    add_value_arguments(parser, "bound")
    parser.set_defaults(command=bound_command)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


@within_budget("bounded")
def bound_command(options: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model that does not conform, 2 for bad input, 3 for what is not shown."""
    if options.format == "npz" and options.output is None:
        raise UsageError("--format npz writes a file: name it with --output")
    try:
        waiting = clock(f"bounding {options.model}") if options.split is None else nullcontext()
        with waiting, StatusLine() as line:
            found = bound(
                options.model, options.input, options.hypotheses, options.edition, unchecked=options.unchecked,
                differences=[_pair(text) for text in options.difference], argmax=options.argmax,
                max_error=options.max_error, split=options.split, progress=line if line.enabled else None,
                jobs=options.jobs, cluster=options.cluster, resume=options.resume, limits=parse_limits(options.limit),
                **sizes_of(options),
            )  # fmt: skip
    except NotConforming as stop:
        return not_conforming(stop, "bounds")
    code = found.exit_code(every_node=options.every_node)
    if options.format == "npz":
        found.write_arrays(options.output)
        say_written(options.output)
    else:
        deliver(found.to_format(options.format, every_node=options.every_node), options.output)
    return code


def _pair(text: str) -> tuple[int, int]:
    found = DIFFERENCE.fullmatch(text)
    if found is None:
        raise UsageError(f"--difference takes I-J, two numbers of elements, not {text!r}")
    return int(found[1]), int(found[2])
