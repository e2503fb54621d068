"""The command line: parse the arguments, call the library, print, return the exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from sonnx.base.errors import USAGE, Stop, Unfinished, UsageError
from sonnx.base.escaping import escape_once, short_sentence
from sonnx.base.suggestions import did_you_mean
from sonnx.cli import commands
from sonnx.model.reader import Unreadable


def run(arguments: Sequence[str], *, own_process: bool = False) -> int:
    """Run one command, in a process that it may fork where that is its own; the exit code."""
    options = _parsed(arguments)
    options.own_process = own_process
    try:
        code: int = options.command(options)
    except Stop as stop:
        return _refuse(str(stop), stop.exit_code)
    except MemoryError:
        return _refuse("the memory of this machine does not suffice", Unfinished.exit_code)
    except (UsageError, Unreadable, OSError) as error:
        return _refuse(_sentence(error), USAGE)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
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
    elif named != VERSION:
        texts = _help_texts()
        for name in names:
            command = subparsers.add_parser(name, help=texts[name]["summary"])
            if named not in LISTS:
                _add_arguments(name, command)
    return command_parser


VERSION = "--version"
LISTS = ("--help", "-h")
"""What lists the commands, and needs none of them."""


def _add_arguments(name: str, command: argparse.ArgumentParser) -> None:
    import_module(f"{commands.__name__}.{name.replace('-', '_')}").add_arguments(command)


def _help_texts() -> dict[str, Any]:
    """The help texts of all commands, by name."""
    import tomllib  # only help texts need it

    return tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


EPILOG = "examples:"
"""How the end of a help text begins."""


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of the end of a help text."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EPILOG) else super()._fill_text(text, width, indent)


_UNSEEN = partial(_HelpFormatter, width=80)
"""What tries the form of each argument that is added: reading the width of the terminal loads compression libraries."""


def _names() -> list[str]:
    """The names of the commands: the modules of the folder."""
    files = os.listdir(commands.__path__[0])  # noqa: PTH208  a pattern takes five times as long
    return sorted(name[:-3].replace("_", "-") for name in files if name.endswith(".py") and name[0] != "_")


UNKNOWN_OPTION = r"unrecognized arguments: (--?[\w-]+\S*)"
UNKNOWN_CHOICE = r"invalid choice: '([^']*)' \(choose from (.*)\)"
CHOICE = r"[\w-]+"
"""How argparse names what it does not know."""


class CommandParser(argparse.ArgumentParser):
    """Reports a wrong command line in one sentence; the commands have parsers of the same class.

    A shortened option is refused: it would get another meaning with the next option that begins alike.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _UNSEEN, **keywords})

    def format_usage(self) -> str:
        """The first lines of the help text."""
        self.formatter_class = _HelpFormatter
        return super().format_usage()

    def format_help(self) -> str:
        """The help text; description, examples and exit codes of a command are in help.toml."""
        name = self.prog.partition(" ")[2]
        if name and self.epilog is None:
            text = _help_texts()[name]
            codes = (f"  {code}  {meaning}" for code, meaning in text["exits"].items())
            lines = [EPILOG, *(f"  {line}" for line in text["examples"]), "", "exit codes:", *codes]
            self.description, self.epilog = text["description"], "\n".join(lines)
        self.formatter_class = _HelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit with the code for wrong use."""
        hint = self._suggestion(message) or f"; try '{self.prog} --help'"
        self.exit(USAGE, f"sonnx: {escape_once(message)}{hint}\n")

    def _suggestion(self, message: str) -> str:
        """The option, command or choice that was probably meant, where the message names an unknown one."""
        unknown, listed = re.search(UNKNOWN_OPTION, message), re.search(UNKNOWN_CHOICE, message)
        if unknown is not None:
            options = {option for parser in _nested(self) for option in parser._option_string_actions}
            name = unknown[1].partition("=")[0]
            return "; write options behind the command" if name in options else did_you_mean(name, options)
        if listed is None:
            return ""
        choices = [*re.findall(CHOICE, listed[2]), *(self._option_string_actions if "COMMAND" in message else ())]
        return did_you_mean(listed[1], choices)

    def with_commands(self) -> Iterator[argparse.ArgumentParser]:
        """This parser and those of the commands."""
        yield self
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


def _nested(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, with those of its commands and of the commands of these."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from _nested(choice)


class _Version(argparse.Action):
    """Looks up the version only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from sonnx.base.resources import tool_version

        print(f"sonnx {tool_version()}")
        parser.exit()


def _refuse(sentence: str, code: int) -> int:
    print(f"sonnx: {short_sentence(sentence)}", file=sys.stderr)
    return code


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}"
    return str(error)
