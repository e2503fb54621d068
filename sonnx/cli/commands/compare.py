"""`sonnx compare`: compare a runtime with the exact values."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.escaping import escape
from sonnx.base.progress import StatusLine
from sonnx.checker.report import NotConforming
from sonnx.cli.budget import add_budget_arguments, not_conforming, within_budget
from sonnx.cli.options import add_options, add_report_arguments, deliver_report, keywords_of
from sonnx.executor.options import ComparisonOptions
from sonnx.report.formats import HASHED

HELP = "compare a runtime with the exact values"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    add_options(parser, ComparisonOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=compare_command)


@within_budget("compared")
def compare_command(options: argparse.Namespace) -> int:
    """Compare and print: 0; 1 for a model without values or a broken bound; 2 for bad input.

    For a model that does not conform, the report of its check is printed.
    """
    from sonnx.api.comparisons import compare

    chosen = keywords_of(ComparisonOptions, options)
    chosen["runtime_memory"] = min(options.runtime_memory, options.memory or options.runtime_memory)
    try:
        with StatusLine() as line:
            report = compare(
                options.model, **chosen, name=options.model, hashed=options.format in HASHED, progress=line
            )
    except NotConforming as stop:
        return not_conforming(stop, "compares", options.format, options.output)
    for reason in report.without_bounds:
        print(f"sonnx: not compared with bounds: {escape(reason)}", file=sys.stderr)
    deliver_report(report, options)
    return report.exit_code
