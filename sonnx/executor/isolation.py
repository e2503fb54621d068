"""A runtime in a process of its own, with limits of time and memory: what it does to its process is a result.

The process is started again after it ended, and loads a model again when it runs it next.
"""

from __future__ import annotations

import subprocess
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import ValidationError

from sonnx.base import child_process
from sonnx.base.budget import RuntimeLimits
from sonnx.base.child_process import ChildProcess, ending
from sonnx.base.errors import NOT_JSON, UsageError
from sonnx.base.escaping import plural
from sonnx.executor.runtime_messages import (
    LENGTH_BYTES,
    MAX_LENGTH,
    REPLIES,
    Done,
    Execute,
    Load,
    NotInstalled,
    Optimize,
    Optimized,
    Outputs,
    RefusedMessage,
    Reply,
    Request,
    Started,
    arrays_of,
    framed,
    messages_of,
)
from sonnx.executor.runtimes import Failure, Fault, Loaded, not_installed, require_known
from sonnx.numerics.formats import Array

CHILD_CODE = "from sonnx.executor.runtime_process import main; main()"
MAX_FAULTS = 3
"""Ends of its process after which a model is not run again."""
START_SECONDS = 120
ENDING_SECONDS = 1
"""Seconds in which a process that closed its pipe has ended."""
LOOK_SECONDS = 0.1
"""How often it is looked whether a process has ended."""
CHUNK = 1 << 16


class IsolatedRuntime:
    """See `sonnx.executor.runtimes.Runtime`; `close` ends its process.

    Args:
        name: a name that `sonnx.executor.runtimes.runtime_class` knows.
        limits: of each request.

    Raises:
        UsageError: the runtime is not known or not installed, or its process does not start.
    """

    def __init__(self, name: str, limits: RuntimeLimits | None = None) -> None:
        self.name, self.limits = name, limits or RuntimeLimits()
        self.title = ""
        self.child: ChildProcess | None = None
        self.starts = 0
        self.models = 0
        self._finish: weakref.finalize[..., IsolatedRuntime] | None = None
        require_known(name)
        try:
            self._start()
        except Fault as fault:
            raise UsageError(f"the runtime {name} cannot be used: {fault}") from None

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """See `Runtime.load`."""
        self.models += 1
        data = model if isinstance(model, bytes) else None
        path = None if isinstance(model, bytes) else str(model.absolute())
        beside = None if folder is None else str(folder.absolute())
        loaded = _IsolatedModel(self, Load(self.models, data, path, beside))
        loaded.load()
        return loaded

    def optimized(self, model: bytes | Path, folder: Path | None, level: str) -> bytes:
        """See `OnnxRuntime.optimized`."""
        data = model if isinstance(model, bytes) else None
        path = None if isinstance(model, bytes) else str(model.absolute())
        beside = None if folder is None else str(folder.absolute())
        reply = self.answer(Optimize(level, data, path, beside), f"it optimized the model ({level})")
        if not isinstance(reply, Optimized):
            raise Fault("its process sent rubbish while it optimized the model")
        return reply.data

    def answer(self, request: Request, doing: str) -> Reply:
        """The reply of the process.

        Raises:
            Failure: the runtime refuses.
            Fault: the process ended, took too long, or sent something else than a reply.
        """
        if self.child is None:
            self._start()
        reply = self._exchange(framed(request), self.limits.seconds, doing)
        if isinstance(reply, RefusedMessage):
            raise Failure(reply.reason)
        return reply

    def close(self) -> None:
        """End the process."""
        if self._finish is not None:
            self._finish()
        self.child, self._finish = None, None

    def _start(self) -> None:
        limits = [str(self.limits.seconds), str(self.limits.megabytes)]
        self.child = child_process.start(CHILD_CODE, [self.name, *limits], buffered=False)
        self._finish = weakref.finalize(self, self.child.end)
        self.starts += 1
        reply = self._exchange(b"", START_SECONDS, "it was started")
        if isinstance(reply, NotInstalled):
            self.close()
            raise not_installed(self.name)
        if not isinstance(reply, Started):
            self.close()
            raise Fault("its process sent rubbish when it was started")
        self.title = reply.title

    def _exchange(self, request: bytes, seconds: float, doing: str) -> Reply:
        """Send a request and read the reply; after anything but a reply the process is ended."""
        child, answered, expired = self.child, threading.Event(), threading.Event()
        assert child is not None  # noqa: S101  (it was started)
        process = child.process
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  (pipes)
        threading.Thread(target=_watch, args=(child, seconds, answered, expired), daemon=True).start()
        try:
            _write(process.stdin, request)
            length = int.from_bytes(_read(process.stdout, LENGTH_BYTES), "little")
            if length > MAX_LENGTH:
                raise ValidationError("its length")
            return REPLIES.decode(_read(process.stdout, length))
        except (EOFError, OSError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING_SECONDS)
            code = process.poll()
            self.close()
            late = f"it did not answer within {plural(int(seconds), 'second')} while {doing}"
            raise Fault(late if expired.is_set() else f"its process ended with {ending(code)} while {doing}") from None
        except NOT_JSON:
            self.close()
            raise Fault(f"its process sent rubbish while {doing}") from None
        except BaseException:  # the time of the command is over, or an interrupt
            self.close()
            raise
        finally:
            answered.set()


class _IsolatedModel:
    """A model that the process loads when it has not, and runs."""

    def __init__(self, runtime: IsolatedRuntime, request: Load) -> None:
        self.runtime, self.request = runtime, request
        self.start = 0
        """Which process has loaded it, by the number of starts."""
        self.faults: list[Fault] = []

    def load(self) -> None:
        if not isinstance(self._answer(self.request, "it loaded the model"), Done):
            raise Fault("its process sent rubbish while it loaded the model")
        self.start = self.runtime.starts

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if len(self.faults) >= MAX_FAULTS:
            raise Fault(f"not run again after {MAX_FAULTS} faults: {self.faults[0]}")
        if self.runtime.child is None or self.start != self.runtime.starts:
            self.load()
        reply = self._answer(Execute(self.request.number, messages_of(inputs)), "it ran the model")
        if not isinstance(reply, Outputs):
            raise Fault("its process sent rubbish while it ran the model")
        try:
            return arrays_of(reply.values)
        except (ValidationError, UnicodeDecodeError) as error:
            raise Fault(f"it gave a value with {error}") from None

    def _answer(self, request: Request, doing: str) -> Reply:
        try:
            return self.runtime.answer(request, doing)
        except Fault as fault:
            self.faults.append(fault)
            raise


def _write(stream: IO[bytes], data: bytes) -> None:
    """All of it; a stream without a buffer may take a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


def _read(stream: IO[bytes], size: int) -> bytearray:
    """So many bytes.

    Raises:
        EOFError: the process has ended.
    """
    data = bytearray()
    while len(data) < size:
        part = stream.read(min(size - len(data), max(CHUNK, size >> 4)))
        if not part:
            raise EOFError
        data += part
    return data


def _watch(child: ChildProcess, seconds: float, answered: threading.Event, expired: threading.Event) -> None:
    """Kill the group when its time is over, or its leader has ended: one that it has started may hold its pipe."""
    end = time.monotonic() + seconds
    while not answered.wait(max(0.0, min(LOOK_SECONDS, end - time.monotonic()))):
        if child.process.poll() is not None:
            break
        if time.monotonic() >= end:
            expired.set()
            break
    else:
        return
    child.kill()
