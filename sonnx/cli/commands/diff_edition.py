"""`sonnx diff-edition`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.errors import USAGE
from sonnx.base.escaping import escape
from sonnx.checker.request import CheckRequest, open_model
from sonnx.model.reader import Unreadable
from sonnx.model.symbols import bindings

HELP = "what differs between two editions, and for given models"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("before", metavar="BEFORE", help="an edition")
    parser.add_argument("after", metavar="AFTER", help="the edition it is compared with")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to judge by both")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="N=1,H=224", help="judge for these values of symbolic dimensions"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(command=diff_edition_command)


def diff_edition_command(options: argparse.Namespace) -> int:
    """Compare and print: 0, 1 where a model gets another verdict, 2 where one cannot be read.

    Raises:
        Misuse: an edition that does not exist, or a symbol that a model has not.
    """
    from sonnx.checker.edition_difference import compare, judged
    from sonnx.report import edition_difference

    found = compare(options.before, options.after)
    asked = CheckRequest(bind=bindings(options.bind))
    models, unreadable = [], {}
    for name in options.models:
        try:
            model, _ = open_model(name, hashed=False)
            models.append(judged(model, asked, name, options.before, options.after))
        except Unreadable as reason:
            unreadable[name] = str(reason)
            sys.stderr.write(f"sonnx: {escape(str(reason))}\n")
    said = edition_difference.as_json if options.format == "json" else edition_difference.text
    sys.stdout.write(said(found, models, unreadable))
    if unreadable:
        return USAGE
    return 1 if any(each.changes for each in models) else 0
