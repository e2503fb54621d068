"""`sonnx qualify`: its arguments."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "verify the tool in this environment"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder to write, a new one")
    parser.set_defaults(command=qualify)


def qualify(options: argparse.Namespace) -> int:
    """Run every case and procedure here, and write the kit; 0 where all came out as expected, else 1.

    Raises:
        Misuse: the folder is there already.
        OSError: the folder cannot be written.
    """
    from sonnx.cli import main
    from sonnx.evidence.qualification_kit import make, require_new, summary, write

    require_new(options.output)
    kit = make(main.run, main.parser())
    write(options.output, kit)
    sys.stdout.write("".join(f"{line}\n" for line in summary(kit)))
    return 0 if kit.passed else 1
