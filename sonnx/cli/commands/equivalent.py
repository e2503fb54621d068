"""`sonnx equivalent`: its arguments; numpy and the rest are loaded when models are compared."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.escaping import escape
from sonnx.base.files import require_empty, say_written
from sonnx.base.progress import Progress
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, has_format, outputs_of
from sonnx.cli.standard_input import two_models
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.report.formats import DRAWN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="FIRST", help="a model file; - reads one of the two from standard input")
    parser.add_argument("second", metavar="SECOND", help="the model file it is compared with")
    add_options(parser, EquivalenceOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=equivalent_command)


@within_budget("compared")
def equivalent_command(parsed: argparse.Namespace) -> int:
    """Compare and print: 0 for the same function, 1 for different ones, 2 for bad input, 3 where neither is known."""
    from sonnx.api.differences import equivalent

    files = [name for name in (parsed.model, parsed.second) if name != "-"]
    outputs = outputs_of(parsed, *files)
    if parsed.witness is not None:
        require_empty(parsed.witness, "older input")
    if parsed.extract is not None:
        require_empty(parsed.extract, "older models")
    sources, names = two_models(parsed.model, parsed.second)
    with Progress(f"comparing {names[0]} and {names[1]}", quiet=parsed.quiet):
        options = keywords_of(EquivalenceOptions, parsed)
        report = equivalent(*sources, names=names, **options, drawn=has_format(outputs, DRAWN))
    if parsed.witness is not None and report.write_witness(parsed.witness):
        say_written(parsed.witness)
    elif parsed.witness is not None:
        sys.stderr.write(f"{escape(str(parsed.witness))} is not written: no input is known that differs\n")
    if parsed.extract is not None and report.write_open_models(parsed.extract):
        say_written(parsed.extract)
    elif parsed.extract is not None:
        sys.stderr.write(f"{escape(str(parsed.extract))} is not written: no part of the models is left open\n")
    deliver_report(report, outputs)
    return report.exit_code
