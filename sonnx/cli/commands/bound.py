"""`sonnx bound`: its arguments; numpy and the rest are loaded when a model is bounded."""

from __future__ import annotations

import argparse

from sonnx.base.errors import UsageError
from sonnx.base.files import deliver, say_written
from sonnx.base.progress import Progress
from sonnx.bounds.options import BoundsOptions
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, outputs_of
from sonnx.report.formats import RESULT_FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    add_options(parser, BoundsOptions)
    parser.add_argument("--every-node", action="store_true", help="show every value, not only the outputs")
    add_report_arguments(parser, (*RESULT_FORMATS, "npz"))
    add_budget_arguments(parser)
    parser.set_defaults(command=bound_command)


@within_budget("bounded", "bounds")
def bound_command(parsed: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model that does not conform, 2 for bad input, 3 for what is not shown."""
    from sonnx.api.bounds import bound

    outputs = outputs_of(parsed, parsed.model)
    if ("npz", None) in outputs:
        raise UsageError("--format npz requires --output")
    with Progress(f"bounding {parsed.model}", quiet=parsed.quiet) as progress:
        report = bound(parsed.model, **keywords_of(BoundsOptions, parsed), progress=progress)
    for form, file in outputs:
        if form != "npz":
            deliver(report.to_format(form, every_node=parsed.every_node), file)
        elif file is not None:
            report.write_arrays(file)
            say_written(file)
    return report.exit_code(every_node=parsed.every_node)
