"""`sonnx rules`: list the rules and operators of an edition."""

from __future__ import annotations

import argparse
import sys

from sonnx.cli.arguments import edition_help

HELP = "list the rules of an edition"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--edition", help=edition_help())
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text", help="the format of the list")
    parser.set_defaults(command=_rules)


def _rules(options: argparse.Namespace) -> int:
    from sonnx.report.rules import rule_list

    sys.stdout.write(rule_list(options.edition).to_format(options.format))
    return 0
