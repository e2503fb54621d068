"""Descriptors 0, 1 and 2, which whoever started this process may have closed, or directed to a full disk.

A file or pipe that is opened while one of them is closed gets its number.  A child process, whose own input and output
have these numbers, would then hold the wrong end of a pipe.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""The streams of descriptors 0, 1 and 2, and how each is opened."""


def open_standard() -> None:
    """Open those of descriptors 0, 1 and 2 that are closed on the null device, and the streams that Python left out.

    Standard error becomes an `error_stream`.
    """
    for number, (name, mode) in enumerate(STANDARD):
        if not _is_open(number):
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            stream = os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
    if type(sys.stderr) is io.TextIOWrapper:  # not what a caller has put there
        sys.stderr = error_stream(2, sys.stderr.encoding)


class _ErrorFile(io.FileIO):
    """A file that loses what cannot be written."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def error_stream(descriptor: int, encoding: str) -> io.TextIOWrapper:
    """A stream for messages, which changes neither the work nor the exit code where nothing can be written to it."""
    file = io.BufferedWriter(_ErrorFile(descriptor, "w", closefd=descriptor != 2))
    return io.TextIOWrapper(file, encoding, "backslashreplace", line_buffering=True)


def pipe() -> tuple[int, int]:
    """The reading and the writing end of a pipe; neither is 0, 1 or 2, even where these are closed."""
    reader, writer = os.pipe()
    return _above_standard(reader), _above_standard(writer)


def copy_of(descriptor: int) -> int:
    """Another descriptor of the same file, which is not 0, 1 or 2."""
    import fcntl  # not on Windows

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, len(STANDARD))


def _above_standard(descriptor: int) -> int:
    if descriptor >= len(STANDARD) or sys.platform == "win32":
        return descriptor
    moved = copy_of(descriptor)
    os.close(descriptor)
    return moved


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
