"""The operational requirements of the tool: one for each rule, each command, each option and each exit code.

None is written here: rules come from the catalogue, commands and options from the command line's own parser.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from sonnx.cli import parser
from sonnx.selecting import every
from sonnx.stops import EXIT_CODES, TOOL_FAILED

APART = "fix"
"""It writes models, so it is no part of the tool that is verified here; what it writes is judged like any file."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the tool must do; `id` is `rule SLUG`, `check`, `check --bind`, or `exit 3`."""

    id: str
    text: str
    source: str


def requirements() -> tuple[Requirement, ...]:
    """All of them, in the order of the catalogue and of the command line's help."""
    return (*_rules(), *_commands(), *_exit_codes())


def _rules() -> Iterator[Requirement]:
    for slug, rule in every().items():
        text = f"`check` reports {slug} wherever this does not hold, and nowhere else: {rule.statement}"
        yield Requirement(f"rule {slug}", text, rule.source)


def _commands() -> Iterator[Requirement]:
    for action in parser()._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        said = {each.dest: each.help for each in action._choices_actions}
        for name, command in action.choices.items():
            if name == APART:
                continue
            yield Requirement(name, f"`sonnx {name}`: {said[name]}.", "the command line")
            yield from _options(name, command)


def _options(name: str, command: argparse.ArgumentParser) -> Iterator[Requirement]:
    for option in command._actions:
        if option.dest != "help":
            written = option.option_strings[-1] if option.option_strings else str(option.metavar)
            yield Requirement(f"{name} {written}", f"`sonnx {name} {written}`: {option.help}.", "the command line")


def _exit_codes() -> Iterator[Requirement]:
    for code, meaning in EXIT_CODES.items():
        if code == TOOL_FAILED:  # cannot be brought about on purpose; the tests of the tool do it from inside
            continue
        yield Requirement(f"exit {code}", f"`sonnx check` ends with {code} where {meaning}.", "the command line")
