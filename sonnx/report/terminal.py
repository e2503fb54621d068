"""How text is printed: width and colours of a terminal, or neither."""

from __future__ import annotations

import os
import re
import sys

from msgspec import Struct

from sonnx.checker.verdicts import Verdict

LEAST_WIDTH = 60
"""Narrower terminals get lines of this width."""

_RED, _GREEN, _YELLOW, _BLUE, _BOLD, _DIM = "31;1", "32;1", "33;1", "34;1", "1", "2"
_OF_VERDICT = {Verdict.FAIL: _RED, Verdict.PASS: _GREEN, Verdict.DEVIATED: _BLUE}
_ESCAPES = "\x1b\\[[0-9;]*m"


class Style(Struct, frozen=True):
    """The width that lines are wrapped to, None for none, and whether to use colours."""

    width: int | None = None
    coloured: bool = False
    docs: str = ""
    """The address of a site with a page for each rule, "" for no links."""

    def bold(self, text: str) -> str:
        """Emphasised text."""
        return self._in(_BOLD, text)

    def dim(self, text: str) -> str:
        """Text that matters less."""
        return self._in(_DIM, text)

    def verdict(self, verdict: Verdict, text: str = "") -> str:
        """A verdict, or text about it, in its colour."""
        return self._in(_OF_VERDICT.get(verdict, _YELLOW), text or str(verdict))

    def wrapped(self, line: str, indent: int) -> str:
        """A line in lines of the width; all but the first begin with `indent` spaces."""
        if self.width is None or len(re.sub(_ESCAPES, "", line)) <= self.width:
            return line
        import textwrap  # only for lines that are too long for a terminal

        return "\n".join(
            textwrap.wrap(
                line, self.width, subsequent_indent=" " * indent, drop_whitespace=True, break_long_words=False,
                break_on_hyphens=False, replace_whitespace=False,
            )
        )  # fmt: skip

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured and text else text


PLAIN = Style()
"""Neither wrapped nor coloured: for files and pipes."""


def terminal_style(colour: str = "auto", docs: str = "") -> Style:
    """The style for standard output: plain unless it is a terminal.

    Args:
        colour: auto, always or never; `auto` uses colours on a terminal unless the environment variable NO_COLOR is set
            or the terminal is `dumb` (https://no-color.org).
        docs: the address of a site with a page for each rule.
    """
    terminal = sys.stdout.isatty()
    wanted = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = None
    if terminal:
        import shutil  # loads compression libraries

        width = max(shutil.get_terminal_size().columns, LEAST_WIDTH)
    return Style(width, wanted if colour == "auto" else colour == "always", docs)
