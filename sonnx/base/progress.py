"""What a long command does and how far it is, on standard error: a line that is rewritten, or a line now and then."""

from __future__ import annotations

import _thread
import os
import re
import sys
from contextlib import suppress
from time import monotonic
from types import TracebackType

from sonnx.base.escaping import escape

FIRST_SECONDS = 2.0
"""A command that takes less shows no progress."""
SECONDS_BETWEEN_UPDATES = 0.2
"""On a terminal, where the line is rewritten."""
SECONDS_BETWEEN_LINES = 10.0
"""Elsewhere, where each line is kept."""
LINE_WIDTH = 79
QUIET = "SONNX_QUIET"
"""The environment variable that silences all commands, as `--quiet` silences one."""
COUNTED = re.compile(r"(\d+)(?:/| of )(\d+)")
"""A step that counts: how many are done, and of how many."""


def progress_bar(done: int, of: int, width: int = 20) -> str:
    """A progress bar in text: `[#####     ]`."""
    return f"[{'#' * (width * done // max(1, of)):{width}}]"


class Progress:
    """The progress of one task: call it with a short text for each step; entering and leaving begin and end it.

    A step that counts, such as `node 3 of 50` or `3/50`, gets a bar on a terminal.  A call costs an assignment: a
    thread writes, so that a step that takes long is shown, too.
    """

    def __init__(self, task: str, *, quiet: bool = False) -> None:
        self.task = task
        self.step = ""
        self.quiet = quiet or bool(os.environ.get(QUIET))
        self.started = monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._end, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._shown = False

    def __call__(self, step: str) -> None:
        """Say which step is done now."""
        self.step = step

    def __enter__(self) -> Progress:
        if not self.quiet:
            self._end.acquire()
            self._ended.acquire()
            try:
                # `threading` takes a tenth of a short check to load.
                _thread.start_new_thread(self._show, ())
            except RuntimeError:  # the memory allowed has no room for a thread
                self.quiet = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self.quiet:
            self._end.release()
            self._ended.acquire()
            if self._shown and self._is_terminal:
                self._write("\r\x1b[K")

    def line(self) -> str:
        """The task, its step and the seconds since it began, in one line."""
        parts = [escape(self.task), *([escape(self.step)] if self.step else [])]
        return f"{': '.join(parts)} ({monotonic() - self.started:.0f} s)"

    def _show(self) -> None:
        wait = FIRST_SECONDS
        while not self._end.acquire(timeout=wait):
            wait, self._shown = SECONDS_BETWEEN_UPDATES if self._is_terminal else SECONDS_BETWEEN_LINES, True
            self._write(f"\r\x1b[K{self._with_bar()[:LINE_WIDTH]}" if self._is_terminal else f"sonnx: {self.line()}\n")
        self._ended.release()

    def _with_bar(self) -> str:
        counted = COUNTED.search(self.step)
        return self.line() if counted is None else f"{progress_bar(int(counted[1]), int(counted[2]))} {self.line()}"

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads standard error
            sys.stderr.write(text)
            sys.stderr.flush()
