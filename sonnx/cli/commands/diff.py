"""`sonnx diff`: its arguments; numpy and the rest are loaded when models are compared."""

from __future__ import annotations

import argparse

from sonnx.base.progress import Progress
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, has_format, outputs_of
from sonnx.cli.standard_input import two_models
from sonnx.equivalence.options import DiffOptions
from sonnx.report.formats import DRAWN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="FIRST", help="a model file; - reads one of the two from standard input")
    parser.add_argument("second", metavar="SECOND", help="the model file it became")
    add_options(parser, DiffOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=diff_command)


@within_budget("compared")
def diff_command(parsed: argparse.Namespace) -> int:
    """Compare and print: 0 where nothing changed, 1 where something did, 2 for bad input."""
    from sonnx.api.differences import diff

    files = [name for name in (parsed.model, parsed.second) if name != "-"]
    outputs = outputs_of(parsed, *files)
    sources, names = two_models(parsed.model, parsed.second)
    with Progress(f"comparing {names[0]} and {names[1]}", quiet=parsed.quiet):
        options = keywords_of(DiffOptions, parsed)
        changes = diff(*sources, names=names, **options, drawn=has_format(outputs, DRAWN))
    deliver_report(changes, outputs)
    return changes.exit_code
