"""`sonnx completion`: print a script that completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

HELP = "print a script that completes commands and options in a shell"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    from sonnx.cli.main import parser  # which loads this module

    sys.stdout.write(bash(parser()))
    return 0


SHELLS = ("bash",)

SCRIPT = """\
# Completion for sonnx in bash, made by: sonnx completion bash
_sonnx() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "$command $before" in
{values}
            *) case "$command $word" in
{options}
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _sonnx sonnx
"""


def bash(parser: argparse.ArgumentParser) -> str:
    """A script for bash; bash itself completes the names of files."""
    commands = _commands(parser)
    values = [
        f'            "{name} {option}") words="{" ".join(choices)}" ;;'
        for name, command in commands.items()
        for option, choices in _choices(command)
    ]
    options = []
    for name, command in commands.items():
        options.append(f'                "{name} -"*) words="{" ".join(_options(command))}" ;;')
        positional = [
            str(choice) for action in command._actions if not action.option_strings for choice in action.choices or ()
        ]
        options += [f'                "{name} "*) words="{" ".join(positional)}" ;;'] if positional else []
    first = (*commands, *_options(parser))
    return SCRIPT.format(commands=" ".join(first), values="\n".join(values), options="\n".join(options))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    [found] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found.choices)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from (option for action in parser._actions for option in action.option_strings if option.startswith("--"))


def _choices(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    for action in parser._actions:
        for option in action.option_strings if action.choices else ():
            yield option, [str(choice) for choice in action.choices or ()]
