"""Manual pages from the help texts: sonnx.1, and one page for each command.

python -m tools.manual FOLDER
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sonnx.base.resources import tool_version
from sonnx.cli import help_texts
from sonnx.cli.main import nested, parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; 0."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("folder", type=Path)
    folder = options.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, "utf-8")
    return 0


def pages() -> Iterator[tuple[str, str]]:
    """The file name and the text of each page."""
    _, *commands = nested(parser())
    about = "check ONNX models against SONNX, the safety-related profile of ONNX"
    yield "sonnx.1", _page("sonnx", about, _program())
    for command in commands:
        key = command.prog.partition(" ")[2]
        text = help_texts.texts()[key]
        summary = text.get("summary") or text["description"].partition(". ")[0].rstrip(".").lower()
        yield f"{command.prog.replace(' ', '-')}.1", _page(command.prog, summary, _command(command, text))


def _page(name: str, summary: str, body: Iterator[str]) -> str:
    head = [
        f'.TH "{name.replace(" ", "-").upper()}" "1" "" "sonnx {tool_version()}" "User Commands"',
        ".SH NAME", f"{_text(name.replace(' ', '-'))} \\- {_text(summary)}",
    ]  # fmt: skip
    return "\n".join([*head, *body]) + "\n"


def _program() -> Iterator[str]:
    yield from (".SH SYNOPSIS", ".B sonnx", r"\fICOMMAND\fR ...")
    for group in help_texts.texts()["groups"]:
        yield f".SH {_text(group['title']).upper()}"
        for name in group["commands"]:
            yield from (".TP", f".BR sonnx\\-{name} (1)", _text(help_texts.summary(name)))


def _command(command: argparse.ArgumentParser, text: dict[str, Any]) -> Iterator[str]:
    options = [action for action in command._actions if action.option_strings]
    positional = [action for action in command._actions if not action.option_strings]
    named = " ".join(str(action.metavar or "COMMAND") for action in positional)
    yield from (".SH SYNOPSIS", f".B {_text(command.prog)}", _text(f"[options] {named}".strip()))
    yield from (".SH DESCRIPTION", _text(str(text["description"])))
    yield ".SH OPTIONS"
    for action in (*positional, *options):
        value = "" if action.nargs == 0 or not action.option_strings else f" {action.metavar or action.dest.upper()}"
        shown = ", ".join(action.option_strings) or str(action.metavar or "COMMAND")
        yield from (".TP", f"\\fB{_text(shown)}\\fR{_text(value)}", _text(str(action.help)))
    yield from (".SH EXAMPLES", ".nf", *map(_text, text.get("examples", ())), ".fi")
    yield ".SH EXIT STATUS"
    for code, meaning in text.get("exits", {}).items():
        yield from (".TP", f".B {code}", _text(meaning))


def _text(text: str) -> str:
    """Text of a line, in which nothing is a request."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown[:1] in (".", "'") else shown


if __name__ == "__main__":
    sys.exit(main())
