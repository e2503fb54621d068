"""`sonnx diff-edition`: compare two editions, and the verdicts on models under both."""

from __future__ import annotations

import argparse
import sys

from sonnx.api.profile import diff_edition
from sonnx.base.escaping import escape
from sonnx.checker.options import ModelOptions
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("before", metavar="BEFORE", help="an edition")
    parser.add_argument("after", metavar="AFTER", help="the edition it is compared with")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to check under both")
    add_options(parser, ModelOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=diff_edition_command)


@within_budget("compared", arrays=False)
def diff_edition_command(parsed: argparse.Namespace) -> int:
    """Compare and print: 0, 1 if the verdict on a model changes, 2 if a model cannot be read."""
    outputs = outputs_of(parsed, *parsed.models)
    report = diff_edition(parsed.before, parsed.after, parsed.models, **keywords_of(ModelOptions, parsed))
    for file in report.unreadable:
        sys.stderr.write(f"sonnx: {escape(file.reason)}\n")
    deliver_report(report, outputs)
    return report.exit_code
