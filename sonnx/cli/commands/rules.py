"""`sonnx rules`: list the rules and operators of an edition."""

from __future__ import annotations

import argparse

from sonnx.api.profile import rules
from sonnx.checker.options import ProfileOptions
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.report.formats import LISTING_FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_options(parser, ProfileOptions)
    add_report_arguments(parser, LISTING_FORMATS)
    parser.set_defaults(command=rules_command)


def rules_command(parsed: argparse.Namespace) -> int:
    """Print the list; 0."""
    deliver_report(rules(**keywords_of(ProfileOptions, parsed)), outputs_of(parsed))
    return 0
