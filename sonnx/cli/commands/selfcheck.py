"""`sonnx selfcheck`: check this installation."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments."""
    parser.set_defaults(command=_selfcheck)


def _selfcheck(options: argparse.Namespace) -> int:
    from sonnx.checker.profile_validation import selfcheck

    lines, sound = selfcheck()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if sound else 1
