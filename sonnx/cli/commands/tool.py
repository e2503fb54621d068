"""`sonnx tool`: what concerns this installation: its completion script and its check."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument

FILES = ("FILE", "MODEL", "BOX", "RECORD")
"""What the placeholders of options and arguments that take files contain."""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="subcommand", help="what to do"
    )
    completion = commands.add_parser("completion", help="print a script that completes commands and options in a shell")
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    completion.set_defaults(command=completion_command)
    selfcheck = commands.add_parser("selfcheck", help="check this installation: its rules, cases and data")
    add_quiet_argument(selfcheck)
    selfcheck.set_defaults(command=selfcheck_command)


def completion_command(options: argparse.Namespace) -> int:
    """Print the script; 0."""
    import shtab  # only this command needs it

    from sonnx.cli.main import nested, parser  # which loads this module

    command_parser = parser()
    for command in nested(command_parser):
        for action in command._actions:
            shown = str(action.metavar)
            if "DIR" in shown or any(word in shown for word in FILES):
                action.complete = shtab.DIRECTORY if "DIR" in shown else shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(command_parser, options.shell).rstrip() + "\n")
    return 0


def selfcheck_command(options: argparse.Namespace) -> int:
    """Check and print; 0, or 1 if a defect was found."""
    from sonnx.checker.profile_validation import selfcheck

    with Progress("checking this installation", quiet=options.quiet):
        lines, sound = selfcheck()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if sound else 1
