"""`sonnx diff-edition`: compare two editions, and the verdicts on models under both."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.escaping import escape
from sonnx.base.reported import json_text
from sonnx.checker.options import ModelOptions
from sonnx.checker.request import CheckRequest
from sonnx.cli.options import add_options, keywords_of

HELP = "compare two editions, and the verdicts on models under both"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("before", metavar="BEFORE", help="an edition")
    parser.add_argument("after", metavar="AFTER", help="the edition it is compared with")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to check under both")
    add_options(parser, ModelOptions, without=["limits"])
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text", help="the format of the comparison")
    parser.set_defaults(command=diff_edition_command)


def diff_edition_command(options: argparse.Namespace) -> int:
    """Compare and print: 0, 1 if the verdict on a model changes, 2 if a model cannot be read."""
    from sonnx.checker.edition_difference import compare_editions
    from sonnx.report.edition_difference import text

    request = CheckRequest(**keywords_of(ModelOptions, options))
    difference = compare_editions(options.before, options.after, options.models, request)
    for file in difference.unreadable:
        sys.stderr.write(f"sonnx: {escape(file.reason)}\n")
    sys.stdout.write(json_text(difference) if options.format == "json" else text(difference))
    return difference.exit_code
