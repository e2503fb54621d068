"""Pictures for the documents: a terminal with real output as SVG, and report pages as a browser shows them.

python -m tools.pictures [--check] [--browser PATH]

The pictures of a terminal need nothing.  Those of pages need a Chromium; without `--browser` they are left as they are.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from xml.sax.saxutils import escape

from sonnx.cli import main as command_line

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
CHECK = "sonnx check examples/classifier.onnx"
TERMINALS = {"check": (CHECK, 22, 8)}
"""By the name of the picture: the command, and how many of its first and of its last lines are shown."""
FIX = "sonnx fix examples/classifier.onnx --bind batch=1 --dry-run"
PAGES = {"report-light": (CHECK, 1000, 1000), "report-dark": (CHECK, 1000, 1000), "fix-light": (FIX, 1000, 1100)}
"""By the name of the picture: the command whose page is shown, and the width and height in pixels."""
COLUMNS = 100
CELL = (8.4, 19.0)
"""Width and height of a character in pixels."""
MARGIN = 14
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "2": "#9198a1"}
"""Of the escape sequences that sonnx writes; the ground is #0d1117, on which each has a contrast of at least 5."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures, or compare those of terminals with the files; 0, or 1 if one differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing: compare")
    parser.add_argument("--browser", metavar="PATH", help="a Chromium that takes pictures of pages")
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    differing = 0
    for name, (command, first, last) in TERMINALS.items():
        picture = terminal(command, output_of(command), first, last)
        path = FOLDER / f"{name}.svg"
        if options.check:
            differing += path.read_text("utf-8") != picture
        else:
            path.write_text(picture, "utf-8")
    if options.browser and not options.check:
        for name, (command, width, height) in PAGES.items():
            take_picture(options.browser, command, FOLDER / f"{name}.png", width, height)
    return int(differing > 0)


def output_of(command: str) -> str:
    """What a command prints on a terminal, with its colours."""
    words = shlex.split(command)[1:]
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        command_line.run([*words, *(["--color", "always"] if words[0] == "check" else [])])
    return printed.getvalue()


def terminal(command: str, text: str, first: int, last: int) -> str:
    """A terminal with a command and the first and last lines of its output, as SVG."""
    lines = [f"$ {command}", *text.splitlines()]
    shown = lines if len(lines) <= first + last else [*lines[:first], "…", *lines[-last:]]
    wide, high = CELL
    width, height = 2 * MARGIN + COLUMNS * wide, 2 * MARGIN + len(shown) * high
    rows = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + high * (number + 0.75):.1f}">{"".join(_spans(line))}</text>\n'
        for number, line in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(command, {chr(34): "&quot;"})}">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">'
        f"\n{rows}</g>\n</svg>\n"
    )


def _spans(line: str) -> Iterator[str]:
    """The parts of a line, each in its colour; what is beyond the last column is cut."""
    left, style = COLUMNS, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            codes = part[2:-1].split(";")
            colour = next((COLOURS[code] for code in codes if code in COLOURS), "")
            style = (f' fill="{colour}"' if colour else "") + (' font-weight="bold"' if "1" in codes else "")
            continue
        text = part if len(part) <= left else f"{part[: max(left - 1, 0)]}…" if left > 0 else ""
        left -= len(part)
        if text:
            written = escape(text).replace(" ", "\u00a0")  # browsers join ordinary spaces
            yield f"<tspan{style}>{written}</tspan>" if style else written


def take_picture(browser: str, command: str, picture: Path, width: int, height: int) -> None:
    """The page of a command as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            command_line.run([*shlex.split(command)[1:], "--format", f"html={page}"])
        dark = ["--blink-settings=preferredColorScheme=0"] if "dark" in picture.name else []
        subprocess.run(  # noqa: S603  the browser that the caller names
            [browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={folder}/profile", *dark,
             f"--window-size={width},{height}", f"--screenshot={picture}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
