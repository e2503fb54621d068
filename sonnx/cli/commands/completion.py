"""`sonnx completion`: print a script that completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse
import sys

FILES = ("FILE", "MODEL", "BOX", "RECORD")
"""What the placeholders of options and arguments that take files contain."""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    import shtab  # only this command needs it

    from sonnx.cli.main import parser  # which loads this module

    command_parser = parser()
    for command in command_parser.with_commands():
        for action in command._actions:
            shown = str(action.metavar)
            if "DIR" in shown or any(word in shown for word in FILES):
                action.complete = shtab.DIRECTORY if "DIR" in shown else shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(command_parser, options.shell).rstrip() + "\n")
    return 0
