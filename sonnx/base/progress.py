"""One line on a terminal that says what is being done, rewritten and at the end wiped away."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

from sonnx.base.escaping import escape

WIDTH = 79
BETWEEN = 0.01
"""Seconds between two lines: writing more often would cost more than it says."""


def bar(done: int, of: int, width: int = 20) -> str:
    """How much is done, as a bar."""
    return f"[{'#' * (width * done // max(1, of)):{width}}]"


class Line:
    """The line; nothing at all where nobody looks.  It may wait some seconds before it is shown."""

    def __init__(self, quiet: float = 0.0) -> None:
        self.seen = sys.stderr.isatty()
        self.next = monotonic() + quiet
        self.shown = False

    def __call__(self, text: str) -> None:
        """Show this now."""
        if not self.seen or monotonic() < self.next:
            return
        self.next, self.shown = monotonic() + BETWEEN, True
        self._write(escape(text)[:WIDTH])

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.shown:
            self._write("")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
