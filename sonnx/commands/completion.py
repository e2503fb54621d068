"""`sonnx completion`: a script that completes the command line in a shell."""

from __future__ import annotations

import argparse
import sys

from sonnx.completion import SHELLS

HELP = "print a script that completes commands and options in a shell"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    from sonnx.cli import parser  # which loads this module
    from sonnx.completion import bash

    sys.stdout.write(bash(parser()))
    return 0
