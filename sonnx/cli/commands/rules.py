"""`sonnx rules`: list the rules and operators of an edition."""

from __future__ import annotations

import argparse
import sys

from sonnx.cli.arguments import edition_help

HELP = "list the rules of an edition"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--edition", help=edition_help())
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the format of the list")
    parser.set_defaults(command=_rules)


def _rules(options: argparse.Namespace) -> int:
    from sonnx.report.rules import as_json, as_text

    sys.stdout.write(as_json(options.edition) if options.format == "json" else as_text(options.edition))
    return 0
