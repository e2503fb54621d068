"""One command in a copy of this process, which can be ended whatever it does, and which a library may end.

The copy is made before anything large is loaded.  It prints, and its exit code is the command's.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from time import monotonic
from typing import IO

from sonnx.base.budget import is_likely, peak_megabytes
from sonnx.supervise import descriptors, frames, lease
from sonnx.supervise.process import End, ProcessEnded, ending, timed_out

MAX_LAST_WORDS = 1 << 16
"""Bytes that are repeated of what a process that ended wrote to descriptor 2."""
INTERRUPTED_SECONDS = 1.0
"""Seconds in which an interrupted command keeps what it has."""


def grace(seconds: float) -> float:
    """Seconds after its time limit at which a command that was not interrupted is ended."""
    return max(0.8, seconds / 6)


def in_a_process(command: Callable[[], int], seconds: float, megabytes: int) -> int:
    """The exit code of a command; in the copy this returns, too, and the program goes on to its end.

    The time ends with the command, not with what reads its output.

    Args:
        command: it keeps the limits, as far as it can.
        seconds: after which it ought to have ended.
        megabytes: its limit; it only decides whether an early end is taken for a lack of memory.

    Raises:
        ProcessEnded: the copy was ended for its time, or ended itself.
    """
    reader, writer = descriptors.pipe()
    held, lent = lease.pipe()
    with _unnamed_file() as last_words:
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT}
        )  # an interrupt waits until it can be passed on
        child = os.fork()
        if not child:
            os.setpgid(0, 0)  # the parent passes interrupts of the terminal on
            lease.hold(held, os.getpid())
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _divert_errors(last_words.fileno())
            return _done(command, writer)
        with suppress(PermissionError, ProcessLookupError):  # it is done already
            os.setpgid(child, child)
        os.close(writer)
        lease.close(held)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with os.fdopen(reader, "rb", buffering=0) as messages:
                lacks_memory = False
                try:
                    return _wait(child, messages, seconds, megabytes, before)
                except ProcessEnded as ended:
                    lacks_memory = ended.end is End.OUT_OF_MEMORY
                    raise
                finally:
                    if not lacks_memory:
                        _repeat(last_words)
        finally:
            lease.kill_group(child)  # what the command has started
            lease.close(lent)


def _unnamed_file() -> IO[bytes]:
    """An empty file that no folder names."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("standard error"), "w+b")
    from tempfile import TemporaryFile  # loads many modules

    return TemporaryFile()


def _divert_errors(file: int) -> None:
    """Let descriptor 2 be a file, and `sys.stderr` what descriptor 2 was.

    What Python or a library writes to descriptor 2 before it ends the process for lack of memory is not for the user:
    the parent says it in one sentence.  After any other end the parent repeats the file.
    """
    sys.stderr.flush()
    kept = descriptors.copy_of(2)
    os.dup2(file, 2)
    sys.stderr = descriptors.error_stream(kept, sys.stderr.encoding)


def _repeat(last_words: IO[bytes]) -> None:
    """Write to standard error what a process wrote to descriptor 2, and at most its last bytes."""
    size = last_words.seek(0, os.SEEK_END)
    last_words.seek(max(0, size - MAX_LAST_WORDS))
    sys.stderr.write(last_words.read().decode("utf-8", "replace"))


def _done(command: Callable[[], int], writer: int) -> int:
    """Run the command, send a message that it is done, and print what it printed."""
    printed = _Printed(sys.stdout.isatty())
    try:
        with redirect_stdout(printed):
            code = command()
    finally:
        with os.fdopen(writer, "wb", buffering=0, closefd=False) as messages:
            frames.send(messages, b"")
    sys.stdout.write(printed.getvalue())
    return code


class _Printed(io.StringIO):
    """What a command prints; it looks like the stream that it goes to."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def _wait(child: int, messages: io.FileIO, seconds: float, megabytes: int, signals: Iterable[int]) -> int:
    end = monotonic() + seconds + grace(seconds)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        late = not select.select([messages], [], [], max(0.0, end - monotonic()))[0]
        done = not late and _is_done(messages)
        if late:
            lease.kill_group(child)
        _, status, usage = os.wait4(child, 0)
    except KeyboardInterrupt:
        return _interrupt(child, messages)
    except BaseException:
        lease.kill_group(child)
        raise
    code = os.waitstatus_to_exitcode(status)
    if done and code >= 0:
        return code
    if late:
        raise timed_out(seconds)
    if code == -signal.SIGKILL or is_likely(megabytes, peak_megabytes(usage)):
        raise ProcessEnded(End.OUT_OF_MEMORY)
    raise ProcessEnded(End.ENDED, ending(code))


def _is_done(messages: io.FileIO) -> bool:
    try:
        frames.receive(messages)
    except EOFError:
        return False
    return True


def _interrupt(child: int, messages: io.FileIO) -> int:
    """Pass the interrupt on; the exit code, if the command keeps what it has and ends in time."""
    os.kill(child, signal.SIGINT)
    if not select.select([messages], [], [], INTERRUPTED_SECONDS)[0]:
        lease.kill_group(child)
        os.waitpid(child, 0)
        raise KeyboardInterrupt
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
