"""`sonnx draft`: a data file for an operator that the profile has no text of."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.base.files import deliver
from sonnx.cli.reports import require_writable
from sonnx.report.operator_draft import operator_draft


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("operator", metavar="OPERATOR", help="an operator of ONNX without a data file")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the draft to a file")
    parser.set_defaults(command=draft_command)


def draft_command(parsed: argparse.Namespace) -> int:
    """Print the draft; 0."""
    if parsed.output is not None:
        require_writable(parsed.output, ())
    deliver(operator_draft(parsed.operator), parsed.output)
    return 0
