"""`sonnx explain`: explain a rule, a tag, an operator, an erratum or a theorem."""

from __future__ import annotations

import argparse
import sys

from sonnx.api.profile import explain
from sonnx.checker.options import ExplainOptions
from sonnx.cli.options import add_options, keywords_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    names = "a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator, an erratum or a theorem"
    parser.add_argument("id", metavar="ID", help=names)
    add_options(parser, ExplainOptions)
    parser.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    """Print the explanation."""
    sys.stdout.write(explain(options.id, **keywords_of(ExplainOptions, options)).to_text())
    return 0
