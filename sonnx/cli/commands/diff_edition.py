"""`sonnx diff-edition`: compare two editions, and the verdicts on models under both."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.errors import USAGE
from sonnx.base.escaping import escape
from sonnx.checker.options import ModelOptions
from sonnx.checker.request import CheckRequest, open_model
from sonnx.cli.options import add_options, keywords_of
from sonnx.model.reader import Unreadable

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
    from sonnx.checker.edition_difference import compare_editions, compare_verdicts
    from sonnx.report import edition_difference

    found = compare_editions(options.before, options.after)
    request = CheckRequest(**keywords_of(ModelOptions, options))
    models, unreadable = [], {}
    for name in options.models:
        try:
            model, _ = open_model(name, hashed=False)
            models.append(compare_verdicts(model, request, name, options.before, options.after))
        except Unreadable as reason:
            unreadable[name] = str(reason)
            sys.stderr.write(f"sonnx: {escape(str(reason))}\n")
    rendered = edition_difference.as_json if options.format == "json" else edition_difference.text
    sys.stdout.write(rendered(found, models, unreadable))
    if unreadable:
        return USAGE
    return 1 if any(each.changes for each in models) else 0
