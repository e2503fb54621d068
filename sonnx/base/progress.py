"""The status line on a terminal: rewritten while work goes on, erased at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType

from sonnx.base.escaping import escape

LINE_WIDTH = 79
SECONDS_BETWEEN_UPDATES = 0.01
"""Updates that come earlier are dropped: writing costs time."""


def progress_bar(done: int, of: int, width: int = 20) -> str:
    """A progress bar in text: `[#####     ]`."""
    return f"[{'#' * (width * done // max(1, of)):{width}}]"


class StatusLine:
    """The status line; nothing is written where standard error is not a terminal.

    `delay` is the number of seconds before the first update is shown.
    """

    def __init__(self, delay: float = 0.0) -> None:
        self.enabled = sys.stderr.isatty()
        self.next_update = monotonic() + delay
        self.shown = False

    def __call__(self, text: str) -> None:
        """Show a text, unless the last update is too recent."""
        if not self.enabled or monotonic() < self.next_update:
            return
        self.next_update, self.shown = monotonic() + SECONDS_BETWEEN_UPDATES, True
        self._write(escape(text)[:LINE_WIDTH])

    def __enter__(self) -> StatusLine:
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


@contextmanager
def status_line(delay: float = 0.0) -> Iterator[StatusLine | None]:
    """The status line, or None where none is shown, so that nobody makes texts for it."""
    with StatusLine(delay) as line:
        yield line if line.enabled else None


@contextmanager
def clock(text: str, delay: float = 1.0) -> Iterator[None]:
    """Show a text with the seconds that have passed while the body runs, on a terminal, after `delay` seconds."""
    import threading  # short runs need none

    done, started = threading.Event(), monotonic()

    def tick(line: StatusLine) -> None:
        while not done.wait(delay):
            line(f"{text}: {monotonic() - started:.0f} s")

    with StatusLine(delay) as line:
        thread = threading.Thread(target=tick, args=(line,), daemon=True)
        if line.enabled:
            thread.start()
        try:
            yield
        finally:
            done.set()
            if line.enabled:
                thread.join()
