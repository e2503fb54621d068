"""`sonnx explain`: explain a rule, a tag, an operator or an erratum."""

from __future__ import annotations

import argparse
import sys

from sonnx.api import explain

HELP = "explain a rule, tag, operator or erratum"
DESCRIPTION = (
    "Explain a rule, a tag, an operator or an erratum: statement, formula, reason, remedy, sources, and a model "
    "that passes and one that fails."
)
EXAMPLES = ("sonnx explain Max.broadcastable", "sonnx explain R1@2025-10")
EXITS = {0: "explained", 2: "nothing has this name"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    names = "a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator or an erratum"
    parser.add_argument("id", metavar="ID", help=names)
    parser.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    """Print the explanation."""
    sys.stdout.write(explain(options.id).to_text())
    return 0
