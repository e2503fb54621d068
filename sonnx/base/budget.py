"""The time and the memory of one command: `--timeout` and `--memory` where no child process does the work."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import resource

MEGABYTE = 1 << 20
_END: ContextVar[float | None] = ContextVar("when the time of the command is over", default=None)


class RuntimeLimits(NamedTuple):
    """What the process of a runtime may take for one request: to load a model, or to run it once."""

    seconds: int = 60
    megabytes: int = 8192


class CommandLimits(NamedTuple):
    """What a command about one model may take."""

    seconds: int = 600
    megabytes: int = 8192


class OutOfTime(BaseException):
    """The time of the command is over; not an `Exception`, which a runtime might take for a failure of a node."""


def is_over() -> bool:
    """Whether the time of the command is over."""
    end = _END.get()
    return end is not None and monotonic() >= end


def milliseconds_left() -> int | None:
    """The time that is left, at least 1; None without a limit."""
    end = _END.get()
    return None if end is None else max(1, int(1000 * (end - monotonic())))


def require_time() -> None:
    """Go on only while there is time.

    Raises:
        OutOfTime: the time of the command is over.
    """
    if is_over():
        raise OutOfTime


@contextmanager
def time_limit(seconds: float | None, *, interrupts: bool = True) -> Iterator[None]:
    """Limit the time of the body: `is_over` says when it has passed.

    Raises:
        OutOfTime: the body takes longer; only if it interrupts, in the main thread, and not on Windows.
    """
    if seconds is None:
        yield
        return
    token = _END.set(monotonic() + seconds)
    timed = interrupts and hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _expire) if timed else None
    hook = sys.unraisablehook
    try:
        if timed:
            sys.unraisablehook = partial(_unraised, hook)
            signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    except Exception as error:
        named = is_over() and OutOfTime.__name__ in str(error)  # of an interruption, ctypes keeps only the name
        if named or isinstance(error.__cause__, OutOfTime):
            raise OutOfTime from None  # a compiled library was interrupted
        raise
    finally:
        _END.reset(token)
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            sys.unraisablehook = hook


AGAIN_SECONDS = 0.01


def _unraised(otherwise: Callable[[sys.UnraisableHookArgs], object], lost: sys.UnraisableHookArgs) -> None:
    """The time was over while an object was deleted, which nothing interrupts: interrupt what comes after it."""
    if isinstance(lost.exc_value, OutOfTime):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    else:
        otherwise(lost)


def _expire(*_: object) -> None:
    raise OutOfTime


WORDS_OF_LIBRARIES = ("out of memory", "bad_alloc", "bad allocation", "can't start new thread")
"""How libraries report a lack of memory in errors of their own: z3, onnxruntime, protobuf, Python."""


def is_lack_of_memory(error: BaseException, megabytes: int | None) -> bool:
    """Whether an error reports a lack of memory, in a process with this limit, or none.

    The system reports it as ENOMEM wherever a file or folder is opened, compiled modules that do not expect it by a
    SystemError, libraries in words, and Python where a module cannot be loaded: some modules, such as hashlib, then
    raise an error of their own.  Modules that fail may have other causes, so they count where a lack of memory is
    likely.  Without a limit, only what Python and the system report counts.
    """
    if megabytes is None:
        return _is_reported(error, (), words=())
    likely = is_likely(megabytes, peak_megabytes())
    unloaded = isinstance(error, ImportError) or any(words in str(error) for words in UNLOADED)
    return (likely and unloaded) or _is_reported(error, SystemError if likely else ())


UNLOADED = ("libz3", "Couldn't parse file content")
"""Words of z3 where its library cannot be loaded, and of protobuf where it cannot load the description of a model."""
SMALL_MEGABYTES = 1024
"""Of a smaller limit the libraries alone may use most, without a page that counts as used."""


def is_likely(megabytes: int, used: float) -> bool:
    """Whether an unexpected end is taken for a lack of memory, after so much of a limit was used."""
    return megabytes < SMALL_MEGABYTES or used >= megabytes / 2


def peak_megabytes(usage: resource.struct_rusage | None = None) -> float:
    """The most that this process, or the one with this usage, has used; 0 on Windows."""
    if sys.platform == "win32":
        return 0.0
    import resource

    most = (usage or resource.getrusage(resource.RUSAGE_SELF)).ru_maxrss
    return most / MEGABYTE if sys.platform == "darwin" else most / 1024


def _is_reported(
    error: BaseException | None,
    taken: type[BaseException] | tuple[()],
    words: Sequence[str] = WORDS_OF_LIBRARIES,
) -> bool:
    """Whether an error, its cause or its context reports a lack of memory, or is of a type that is taken for one."""
    if error is None:
        return False
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if isinstance(error, taken) or any(each in str(error).lower() for each in words):
        return True
    return _is_reported(error.__cause__, taken, words) or _is_reported(error.__context__, taken, words)


def allowed_bytes() -> int | None:
    """The bytes of data that this process may have, None where there is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    soft = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS))
    return min((size for size in soft if size != resource.RLIM_INFINITY), default=None)


@contextmanager
def memory_limit(megabytes: int | None) -> Iterator[None]:
    """Limit the data of the process while the body runs, mapped files excepted; Windows has no such limit.

    Raises:
        MemoryError: the body takes more.
    """
    if megabytes is None or sys.platform == "win32":
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    size = megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard < 0 else min(size, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
