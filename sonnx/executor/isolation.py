"""A runtime in a process of its own, with limits of time and memory: what it does to its process is a result.

The process is started again after it ended, and loads a model again when it runs it next.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from pathlib import Path

from msgspec import ValidationError

from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.executor.runtime_messages import (
    ENCODER,
    REPLIES,
    Done,
    Execute,
    Identified,
    Identify,
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
    messages_of,
)
from sonnx.executor.runtimes import Failure, Fault, Loaded, not_installed, require_known
from sonnx.numerics.formats import Array
from sonnx.supervise.process import End, ProcessEnded
from sonnx.supervise.service import Service, ServiceLimits

MAX_FAULTS = 3
"""Ends of its process after which a model is not run again."""
MALFORMED = "its process sent a malformed message while {}"


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
        self.starts = 0
        self.models = 0
        self._service: Service | None = None
        self._finish: weakref.finalize[..., IsolatedRuntime] | None = None
        require_known(name)
        try:
            self._start()
        except Fault as fault:
            raise UsageError(f"the runtime {name} cannot be used: {fault}") from None

    @property
    def is_running(self) -> bool:
        """Whether it has a process; the next request starts one if it has none."""
        return self._service is not None

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """See `Runtime.load`."""
        self.models += 1
        loaded = _IsolatedModel(self, Load(self.models, *_places(model, folder)))
        loaded.load()
        return loaded

    def optimized(self, model: bytes | Path, folder: Path | None, level: str) -> bytes:
        """See `OnnxRuntime.optimized`."""
        doing = f"it optimized the model ({level})"
        reply = self.answer(Optimize(level, *_places(model, folder)), doing)
        if not isinstance(reply, Optimized):
            raise Fault(MALFORMED.format(doing))
        return reply.data

    def identity(self) -> Mapping[str, str]:
        """What its outputs depend on besides the models: names and versions or hashes (`supervise.identity`).

        Raises:
            Fault: its process ended.
        """
        doing = "it named its files"
        reply = self.answer(Identify(), doing)
        if not isinstance(reply, Identified):
            raise Fault(MALFORMED.format(doing))
        return {"runtime": self.title, **reply.identity}

    def answer(self, request: Request, doing: str) -> Reply:
        """The reply of the process.

        Raises:
            Failure: the runtime refuses.
            Fault: the process ended, took too long, or sent something else than a reply.
        """
        service = self._service or self._start()
        try:
            reply = service.ask(ENCODER.encode(request), REPLIES.decode)
        except BaseException as error:
            self.close()
            if isinstance(error, ProcessEnded):
                raise _fault(error, doing) from None
            raise
        if isinstance(reply, RefusedMessage):
            raise Failure(reply.reason)
        return reply

    def close(self) -> None:
        """End the process."""
        if self._finish is not None:
            self._finish()
        self._service, self._finish = None, None

    def _start(self) -> Service:
        limits = ServiceLimits(self.limits.seconds, self.limits.megabytes)
        self._service = service = Service("sonnx.executor.runtime_process", [self.name], limits)
        self._finish = weakref.finalize(self, service.end)
        self.starts += 1
        try:
            reply = service.greeting(REPLIES.decode)
        except BaseException as error:
            self.close()
            if isinstance(error, ProcessEnded):
                raise _fault(error, "it was started") from None
            raise
        if isinstance(reply, Started):
            self.title = reply.title
            return service
        self.close()
        if not isinstance(reply, NotInstalled):
            raise Fault(MALFORMED.format("it was started"))
        if reply.reason:
            raise UsageError(f"the runtime {self.name} cannot be imported: {escape(reply.reason)}")
        raise not_installed(self.name)


def _places(model: bytes | Path, folder: Path | None) -> tuple[bytes | None, str | None, str | None]:
    """The bytes or the path of a model, and the folder of its external data."""
    data = model if isinstance(model, bytes) else None
    path = None if isinstance(model, bytes) else str(model.absolute())
    return data, path, None if folder is None else str(folder.absolute())


def _fault(ended: ProcessEnded, doing: str) -> Fault:
    match ended.end:
        case End.TIMED_OUT:
            return Fault(f"it {ended} while {doing}")
        case End.FAILED:
            return Fault(f"its process failed ({ended.detail}) while {doing}")
        case _:
            return Fault(f"its process {ended} while {doing}")


class _IsolatedModel:
    """A model that the process loads when it has not, and runs."""

    def __init__(self, runtime: IsolatedRuntime, request: Load) -> None:
        self.runtime, self.request = runtime, request
        self.start = 0
        """Which process has loaded it, by the number of starts."""
        self.faults: list[Fault] = []

    def load(self) -> None:
        doing = "it loaded the model"
        if not isinstance(self._answer(self.request, doing), Done):
            raise Fault(MALFORMED.format(doing))
        self.start = self.runtime.starts

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if len(self.faults) >= MAX_FAULTS:
            raise Fault(f"not run again after {MAX_FAULTS} faults: {self.faults[0]}")
        if not self.runtime.is_running or self.start != self.runtime.starts:
            self.load()
        doing = "it ran the model"
        reply = self._answer(Execute(self.request.number, messages_of(inputs)), doing)
        if not isinstance(reply, Outputs):
            raise Fault(MALFORMED.format(doing))
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
