"""The command line: parse the arguments, call the library, print, return the exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from sonnx.base.errors import USAGE, Stop, Unfinished, Unreadable, UsageError
from sonnx.base.escaping import escape_once, short_sentence
from sonnx.base.suggestions import did_you_mean
from sonnx.cli import commands
from sonnx.cli.old_spellings import current_spelling


def run(arguments: Sequence[str], *, own_process: bool = False) -> int:
    """Run one command, in a process that it may fork where that is its own; the exit code."""
    options = _parsed(arguments)
    options.own_process = own_process
    try:
        code: int = options.command(options)
    except Stop as stop:
        return _refuse(_with_next_command(str(stop), arguments), stop.exit_code)
    except MemoryError:
        return _refuse("the memory of this machine does not suffice", Unfinished.exit_code)
    except BrokenPipeError:  # of standard output: nobody is left to tell
        raise
    except (UsageError, Unreadable, OSError) as error:
        return _refuse(_with_next_command(_sentence(error), arguments), USAGE)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    arguments, about_spelling = current_spelling(arguments)
    if about_spelling:
        print(f"sonnx: {short_sentence(about_spelling)}", file=sys.stderr)
    first = arguments[0] if arguments else ""
    command_parser = parser(first)
    if first.startswith("-") and first not in command_parser._option_string_actions:
        command_parser.error(f"unrecognized arguments: {first}")  # argparse would ask for a command
    return command_parser.parse_args(arguments)


def parser(named: str = "") -> CommandParser:
    """The parser of the command line, with all commands, or only those that the first argument needs."""
    command_parser = CommandParser(
        prog="sonnx", description="Check ONNX models against SONNX, the safety-related profile of ONNX."
    )
    command_parser.add_argument(VERSION, action=_Version, nargs=0, help="print the version")
    subparsers = command_parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", prog=command_parser.prog
    )
    names = _names()
    if named in names:
        _add_arguments(named, subparsers.add_parser(named))
    elif named not in (VERSION, *LISTS):
        from sonnx.cli import help_texts  # a known command needs no help texts

        for name in help_texts.grouped(names):
            _add_arguments(name, subparsers.add_parser(name, help=help_texts.summary(name)))
    return command_parser


VERSION = "--version"
LISTS = ("--help", "-h", "--help-all")
"""What lists the commands, and needs none of them."""


def _add_arguments(name: str, command: argparse.ArgumentParser) -> None:
    import_module(f"{commands.__name__}.{name}").add_arguments(command)


_UNSEEN = partial(argparse.HelpFormatter, width=80)
"""What tries the form of each argument that is added: reading the width of the terminal loads compression libraries."""


def _names() -> list[str]:
    """The names of the commands: the modules of the folder."""
    files = os.listdir(commands.__path__[0])  # noqa: PTH208  a pattern takes five times as long
    return sorted(name[:-3] for name in files if name.endswith(".py") and name[0] != "_")


UNKNOWN_OPTION = r"unrecognized arguments: (--?[\w-]+\S*)"
UNKNOWN_CHOICE = r"invalid choice: '([^']*)' \(choose from (.*)\)"
CHOICE = r"[\w-]+"
"""How argparse names what it does not know."""


class CommandParser(argparse.ArgumentParser):
    """Reports a wrong command line in one sentence; the commands have parsers of the same class.

    A shortened option is refused: it would get another meaning with the next option that begins alike.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _UNSEEN, "add_help": False, **keywords})
        self.add_argument("-h", "--help", action=_Help, nargs="?", metavar="limits", help="print the help text")
        self.add_argument("--help-all", action=_Help, nargs=0, help="print the help text with every option")

    def format_help(self) -> str:
        """The help text: the groups of commands, or all that help.toml and the options say of a command."""
        from sonnx.cli import help_texts  # few runs print one

        if self.prog.count(" "):
            return help_texts.command_help(self, complete=True)
        return help_texts.command_list(str(self.description))

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit with the code for wrong use."""
        hint = self._suggestion(message) or f"; try '{self.prog} --help'"
        self.exit(USAGE, f"sonnx: {escape_once(message)}{hint}\n")

    def _suggestion(self, message: str) -> str:
        """The option, command or choice that was probably meant, where the message names an unknown one."""
        unknown, listed = re.search(UNKNOWN_OPTION, message), re.search(UNKNOWN_CHOICE, message)
        if unknown is not None:
            options = {option for parser in nested(self) for option in parser._option_string_actions}
            name = unknown[1].partition("=")[0]
            return "; write options behind the command" if name in options else did_you_mean(name, options)
        if listed is None:
            return ""
        choices = [*re.findall(CHOICE, listed[2]), *(self._option_string_actions if "COMMAND" in message else ())]
        return did_you_mean(listed[1], choices)


def nested(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, with those of its commands and of the commands of these."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from nested(choice)


class _Help(argparse.Action):
    """`--help`, also with a topic, and `--help-all`."""

    def __init__(self, option_strings: Sequence[str], dest: str, **keywords: Any) -> None:
        super().__init__(option_strings, "help", default=argparse.SUPPRESS, **keywords)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option: str | None = None
    ) -> None:
        """Print the text and end."""
        from sonnx.cli import help_texts  # few runs print one

        print(help_texts.text_for(parser, str(values), complete=option == "--help-all"), end="")
        parser.exit()


class _Version(argparse.Action):
    """Looks up the version only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from sonnx.base.resources import tool_version

        print(f"sonnx {tool_version()}")
        parser.exit()


def _with_next_command(sentence: str, arguments: Sequence[str]) -> str:
    from sonnx.cli.next_commands import next_command  # a command that succeeds needs none

    return sentence + next_command(sentence, arguments)


def _refuse(sentence: str, code: int) -> int:
    print(f"sonnx: {short_sentence(sentence)}", file=sys.stderr)
    return code


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}"
    return str(error)
