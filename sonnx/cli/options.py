"""The arguments of a command from the options structure of its analysis, and the options from the parsed arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.options import Argument, Options, default_of


def add_options(parser: argparse._ActionsContainer, kind: type[Options], without: Collection[str] = ()) -> None:
    """Add an argument for each option, inherited ones last, but for those of the names in `without`."""
    structures = [base for base in kind.__mro__ if issubclass(base, Options)]
    for option, argument in sorted(
        kind.arguments(), key=lambda pair: sum(pair[0].name in base.__struct_fields__ for base in structures)
    ):
        if option.name not in without:
            _add(parser, option.name, argument, default_of(option))


def keywords_of(kind: type[Options], parsed: argparse.Namespace) -> dict[str, Any]:
    """The options in parsed arguments, as keyword arguments of a public function.

    Raises:
        UsageError: a value has another form.
    """
    values = {}
    for option, argument in kind.arguments():
        if hasattr(parsed, option.name):
            value = getattr(parsed, option.name)
            values[option.name] = argument.collect(value) if isinstance(value, list) else value
    return values


def written_options(kind: type[Options], parsed: argparse.Namespace, without: Collection[str] = ()) -> list[str]:
    """The options that have another value than their default, as they are written on the command line."""
    return [
        flag_of(option.name, argument)
        for option, argument in kind.arguments()
        if option.name not in without and getattr(parsed, option.name) not in ([], default_of(option))
    ]


def require_effect(
    parsed: argparse.Namespace, kind: type[Options], why: str, without: Collection[str] = (), more: Iterable[str] = ()
) -> None:
    """Refuse options of an analysis that this run is not about; `more` are options of the command alone.

    Raises:
        UsageError: one of them is given.
    """
    without_effect = written_options(kind, parsed, without) + [f"--{name}" for name in more if getattr(parsed, name)]
    if without_effect:
        raise UsageError(f"{without_effect[0]} {why}")


def flag_of(name: str, argument: Argument) -> str:
    """An option as it is written on the command line."""
    return f"--{argument.name or name.replace('_', '-')}"


def _add(parser: argparse._ActionsContainer, name: str, argument: Argument, default: Any) -> None:
    flag = flag_of(name, argument)
    more: dict[str, Any] = {
        "dest": name,
        "help": argument.help + (argument.known() if argument.known is not None else ""),
    }
    if default is False:
        parser.add_argument(flag, action="store_true", **more)
        return
    repeated = isinstance(default, Collection) and not isinstance(default, str)
    more |= {"action": "append", "default": []} if repeated else {"default": default}
    more |= {"choices": argument.choices()} if argument.choices is not None else {"metavar": argument.metavar}
    more |= {"nargs": "?", "const": argument.bare} if argument.bare is not None else {}
    parser.add_argument(flag, type=reader(argument.read), **more)


def reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """The reader of a text, whose refusal argparse reports with the name of the option."""

    @wraps(read)
    def wrapped(text: str) -> Any:
        try:
            return read(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return wrapped
