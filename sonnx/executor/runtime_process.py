"""What the process of a runtime does: it loads and runs models, and says what the runtime depends on.

What the runtime prints goes nowhere, not between the messages.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from sonnx.base.files import sha256
from sonnx.base.resources import PACKAGE
from sonnx.executor.runtime_messages import (
    ENCODER,
    REQUESTS,
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
from sonnx.executor.runtimes import RUNTIMES, Failure, Loaded, Runtime, optimizer_of, runtime_class
from sonnx.supervise.identity import value_hash


class RuntimeService:
    """See `sonnx.supervise.child.Answering`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loaded: dict[int, Loaded] = {}

    def greeting(self) -> bytes:
        """The title of the runtime, or why it cannot be imported.

        An adapter may be in the current folder, which stands last, so that no file there replaces a package.
        """
        is_adapter = self.name not in RUNTIMES
        if is_adapter:
            sys.path.append(str(Path.cwd()))
        try:
            self.runtime: Runtime = runtime_class(self.name)()
        except ImportError as error:
            is_missing = isinstance(error, ModuleNotFoundError) and not is_adapter
            return ENCODER.encode(NotInstalled("" if is_missing else f"{type(error).__name__}: {error}"))
        return ENCODER.encode(Started(self.runtime.title))

    def answer(self, request: bytes | bytearray) -> bytes:
        """The reply to a request; an adapter may raise anything, and goes on with the next one."""
        asked = REQUESTS.decode(request)
        try:
            reply = self._reply(asked)
        except Failure as failure:
            reply = RefusedMessage(str(failure))
        except Exception as error:  # noqa: BLE001  (see above)
            lines = str(error).strip().splitlines() or [""]
            reply = RefusedMessage(f"{type(error).__name__}: {lines[0]}")
        return ENCODER.encode(reply)

    def _reply(self, request: Request) -> Reply:
        match request:
            case Load():
                self.loaded[request.number] = self.runtime.load(*_model(request))
                return Done()
            case Optimize():
                return Optimized(optimizer_of(self.runtime)(*_model(request), request.level))
            case Identify():
                return Identified({"set of installed packages": _packages(), "adapter": _own_modules(self.name)})
            case Execute():
                return Outputs(messages_of(self.loaded[request.number](arrays_of(request.inputs))))


def service(name: str) -> RuntimeService:
    """What answers the requests of a comparison; the runtime is loaded within the memory limit."""
    return RuntimeService(name)


def _model(request: Load | Optimize) -> tuple[bytes | Path, Path | None]:
    model = Path(request.path) if request.path is not None else request.data or b""
    return model, None if request.folder is None else Path(request.folder)


def _packages() -> str:
    """A hash of the versions of all installed packages: a runtime loads its libraries when it likes."""
    return value_hash(sorted({f"{found.metadata['Name']} {found.version}" for found in distributions()}))


def _own_modules(name: str) -> str:
    """A hash of the modules that no package brings, and of the module of an adapter, wherever it stands."""
    adapter = sys.modules.get(name.partition(":")[0])
    files = {*_files_outside_packages(), *([adapter.__file__] if adapter is not None and adapter.__file__ else [])}
    return value_hash({str(file): sha256(Path(file)) for file in files if Path(file).is_file()})


def _files_outside_packages() -> Iterator[str]:
    folders = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and not any(Path(file).is_relative_to(folder) for folder in (*folders, PACKAGE)):
            yield file
