"""`sonnx explain`: a rule, tag, operator or erratum."""

from __future__ import annotations

import argparse
import sys

HELP = "explain a rule, tag, operator or erratum"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    meant = "a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator or an erratum"
    parser.add_argument("id", metavar="ID", help=meant)
    parser.set_defaults(command=_explain)


def _explain(options: argparse.Namespace) -> int:
    from sonnx.report.explain import explain

    sys.stdout.write(explain(options.id))
    return 0
