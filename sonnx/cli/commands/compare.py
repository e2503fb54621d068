"""`sonnx compare`: compare a runtime with the exact values."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.escaping import escape
from sonnx.base.progress import Progress
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, has_format, outputs_of
from sonnx.executor.options import ComparisonOptions
from sonnx.report.formats import HASHED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    add_options(parser, ComparisonOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=compare_command)


@within_budget("compared", "compares")
def compare_command(parsed: argparse.Namespace) -> int:
    """Compare and print: 0; 1 for a model without values or a broken bound; 2 for bad input."""
    from sonnx.api.comparisons import compare

    outputs = outputs_of(parsed, parsed.model)
    options = keywords_of(ComparisonOptions, parsed)
    options["runtime_memory"] = min(parsed.runtime_memory, parsed.memory or parsed.runtime_memory)
    with Progress(f"comparing {parsed.model}", quiet=parsed.quiet) as progress:
        hashed = has_format(outputs, HASHED)
        report = compare(parsed.model, **options, name=parsed.model, hashed=hashed, progress=progress)
    for reason in report.without_bounds:
        print(f"sonnx: not compared with bounds: {escape(reason)}", file=sys.stderr)
    deliver_report(report, outputs)
    return report.exit_code
