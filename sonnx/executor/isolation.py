"""A runtime in a process of its own, with limits of time and memory: what it does to its process is a result.

The process is started again after it ended, and loads a model again when it runs it next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import ValidationError

from sonnx.base import lease
from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import NOT_JSON, UsageError
from sonnx.base.escaping import plural
from sonnx.base.resources import PACKAGE
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
        self.process: subprocess.Popen[bytes] | None = None
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
        if self.process is None:
            self._start()
        reply = self._exchange(framed(request), self.limits.seconds, doing)
        if isinstance(reply, RefusedMessage):
            raise Failure(reply.reason)
        return reply

    def close(self) -> None:
        """End the process."""
        if self._finish is not None:
            self._finish()
        self.process, self._finish = None, None

    def _start(self) -> None:
        limits = [str(self.limits.seconds), str(self.limits.megabytes)]
        held, lent = lease.pipe()
        self.process = subprocess.Popen(  # noqa: S603  (the interpreter that runs this, and a constant)
            [sys.executable, "-P", "-c", CHILD_CODE, self.name, *limits, *map(str, held)],
            pass_fds=held,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "SONNX_TRACEBACK" in os.environ else subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(module_path())},
            start_new_session=True,  # only the parent handles interrupts of the terminal
            bufsize=0,
        )
        self._finish = weakref.finalize(self, _end, self.process, lent)
        lease.close(held)
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
        process, expired = self.process, threading.Event()
        assert process is not None and process.stdin is not None and process.stdout is not None  # noqa: S101  (pipes)
        timer = threading.Timer(seconds, _expire, (process, expired))
        timer.daemon = True
        timer.start()
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
            raise Fault(late if expired.is_set() else f"its process ended with {_ending(code)} while {doing}") from None
        except NOT_JSON:
            self.close()
            raise Fault(f"its process sent rubbish while {doing}") from None
        except BaseException:  # the time of the command is over, or an interrupt
            self.close()
            raise
        finally:
            timer.cancel()


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
        if self.runtime.process is None or self.start != self.runtime.starts:
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


def _ending(code: int | None) -> str:
    if code is None:
        return "a closed pipe"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _expire(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _end(process: subprocess.Popen[bytes], lent: Sequence[int]) -> None:
    process.kill()
    process.wait()
    lease.close(lent)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()


def module_path() -> list[str]:
    """Where this process finds modules, without the current folder, unless the program is there."""
    here = Path.cwd()
    return [name for name in sys.path if name and (Path(name) != here or here == PACKAGE.parent)]
