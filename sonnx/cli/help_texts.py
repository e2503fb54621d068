"""The help texts: the commands in groups, a screen for each command, and `--help-all`; help.toml has the words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

WIDTH = 80
"""Columns of a help text, where the terminal has as many."""
COLUMN = 26
"""Where the meanings of options begin."""
LIMITS = "limits"
"""The topic of `--help limits`."""
END = (
    "sonnx COMMAND --help explains a command; begin with: sonnx check model.onnx",
    "sonnx --version prints the version.",
)


@cache
def texts() -> dict[str, Any]:
    """help.toml."""
    import tomllib  # only help texts need it

    return tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


def grouped(names: Iterable[str]) -> list[str]:
    """The names of commands in the order of their groups; those without a group last."""
    order = [name for group in texts()["groups"] for name in group["commands"]]
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def summary(name: str) -> str:
    """What a command does, as one phrase."""
    return str(texts()[name]["summary"])


def command_list(description: str) -> str:
    """The help text of the program: its commands in groups."""
    lines = ["usage: sonnx COMMAND ...", "", description, ""]
    for group in texts()["groups"]:
        lines += [f"{group['title']}:"]
        lines += [f"  {name:<11} {summary(name)}" for name in group["commands"]]
    return "\n".join([*lines, "", *END]) + "\n"


class HelpFormatter(argparse.HelpFormatter):
    """Writes `-o, --output FILE`, and keeps the lines of what is wrapped already."""

    def __init__(self, prog: str, *, complete: bool) -> None:
        super().__init__(prog, max_help_position=COLUMN, width=min(get_terminal_size().columns, WIDTH))
        self._complete = complete

    def _expand_help(self, action: argparse.Action) -> str:
        """The meaning, up to its first semicolon in a short help text."""
        meaning = super()._expand_help(action)
        return meaning if self._complete else meaning.partition("; ")[0]

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def command_help(parser: argparse.ArgumentParser, *, complete: bool) -> str:
    """The help text of a command: what it does, its options, examples and exit codes; all options if `complete`."""
    text = texts().get(parser.prog.partition(" ")[2], {})
    positional = [action for action in parser._actions if not action.option_strings]
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    chosen = text.get("options", [])
    shown = options if complete or not chosen else sorted(
        (each for each in options if _name(each) in chosen), key=lambda each: chosen.index(_name(each))
    )  # fmt: skip
    formatter = HelpFormatter(parser.prog, complete=complete)
    if complete:
        formatter.add_usage(None, [*positional, *options], [])
    else:
        named = " ".join(formatter._format_args(each, str(each.metavar)) for each in positional)
        formatter.add_text(f"usage: {parser.prog}{' [options]' * bool(options)} {named}".rstrip())
    formatter.add_text(text.get("description", parser.description or ""))
    formatter.start_section(None)
    formatter.add_arguments([*positional, *shown])
    formatter.end_section()
    examples = ["examples:", *(f"  {line}" for line in text.get("examples", ()))]
    codes = ["exit codes:", *(line for code, means in text.get("exits", {}).items() for line in _code(code, means))]
    lines = [part for part in (examples, codes) if len(part) > 1]
    formatter.add_text("\n".join(line for part in lines for line in part) if lines else "")
    hidden = len(options) - len(shown)
    formatter.add_text(f"{hidden} more options: {parser.prog} --help-all" if hidden else "")
    return re.sub(r"\n{3,}", "\n\n", formatter.format_help())


def _name(action: argparse.Action) -> str:
    return action.option_strings[-1].removeprefix("--")


def _code(code: str, means: str) -> Sequence[str]:
    return wrap(means, WIDTH, initial_indent=f"  {code}  ", subsequent_indent="     ")


def limits_help() -> str:
    """What `--limit` can change, with the defaults."""
    from sonnx.model.limits import LIMITS as SIZES  # only this text needs it

    width = max(len(limit.name) for limit in SIZES)
    lines = [f"  {limit.name:<{width}}  {limit.default:>10}  {limit.what}" for limit in SIZES]
    return "\n".join(["--limit NAME=NUMBER changes a limit; the defaults:", *lines]) + "\n"


def text_for(parser: argparse.ArgumentParser, topic: str, *, complete: bool) -> str:
    """The help text that `--help TOPIC` or `--help-all` prints."""
    if topic == LIMITS:
        return limits_help()
    return command_help(parser, complete=complete) if parser.prog.count(" ") else parser.format_help()
