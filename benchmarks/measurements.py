"""The tables of docs/measurements: python -m benchmarks.measurements NAME...

A table stands between two comments: its name with the command that measures it, and its end.  A benchmark with
`--write` calls `write`; this program runs the command of a table that a command only prints, and writes the tables that
it prints.  Commands with a word in capitals need files of yours: run them, and give what they print with `--from FILE`.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "docs" / "measurements"
MARKED = re.compile(
    r"^<!-- measured (?P<name>[a-z-]+): (?P<command>.+) -->\n(?P<text>.*?)^<!-- end of (?P=name) -->$",
    re.MULTILINE | re.DOTALL,
)


class Table(NamedTuple):
    """What stands between two comments of a page, and the command that measures it."""

    name: str
    command: str
    text: str
    page: Path


def tables() -> Iterator[Table]:
    """All tables, page by page."""
    for page in sorted(FOLDER.glob("*.md")):
        for match in MARKED.finditer(page.read_text("utf-8")):
            yield Table(match["name"], match["command"], match["text"], page)


def table(name: str) -> Table:
    """The table of this name.

    Raises:
        KeyError: no page has it.
    """
    found = [each for each in tables() if each.name == name]
    if not found:
        raise KeyError(f"docs/measurements has no table {name}")
    return found[0]


def write(name: str, text: str) -> None:
    """Put other text in the place of a table."""
    place = table(name)

    def other(match: re.Match[str]) -> str:
        head, end = f"<!-- measured {name}: {match['command']} -->\n", f"\n<!-- end of {name} -->"
        return match[0] if match["name"] != name else head + text.strip("\n") + end

    place.page.write_text(MARKED.sub(other, place.page.read_text("utf-8")), "utf-8")


def printed_tables(output: str) -> str:
    """The tables in what a command printed, with the lines between them left out.

    Raises:
        ValueError: it printed none.
    """
    blocks = re.findall(r"(?:^\|.*\n?)+", output, re.MULTILINE)
    if not blocks:
        raise ValueError("the command printed no table")
    return "\n".join(blocks)


def printed_by(command: str) -> str:
    """What the command of a table prints.

    Raises:
        ValueError: the command writes its table itself.
    """
    words = shlex.split(command)
    if words[0] == "make" or "--write" in words:
        raise ValueError(f"{command} writes this table itself")
    words = [sys.executable, *words[1:]] if words[0] == "python" else [sys.executable, "-m", *words]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main(arguments: Sequence[str]) -> int:
    """Measure and write the tables with these names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measurements", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="tables; all names are printed if there is none")
    parser.add_argument("--from", type=Path, dest="source", metavar="FILE", help="what the command printed before")
    options = parser.parse_args(arguments)
    if not options.names:
        print(*(f"{each.name}: {each.command}" for each in tables()), sep="\n")
    for name in options.names:
        try:
            output = options.source.read_text("utf-8") if options.source else printed_by(table(name).command)
        except ValueError as refused:
            parser.error(str(refused))
        write(name, printed_tables(output))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
