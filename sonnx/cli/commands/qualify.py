"""`sonnx qualify`: verify the tool in this environment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="write the kit to this new folder"
    )
    add_quiet_argument(parser)
    parser.set_defaults(command=qualify_command)


def qualify_command(options: argparse.Namespace) -> int:
    """Run every case and procedure, and write the kit; 0 if all results are as expected, else 1."""
    from sonnx.api.evidence import qualify
    from sonnx.cli import main  # which loads this module

    with Progress("running every case and procedure", quiet=options.quiet):
        kit = qualify(options.output, main.run, main.parser())
    sys.stdout.write("".join(f"{line}\n" for line in kit.summary()))
    return 0 if kit.passed else 1
