"""Services in this process, for tests of what is asked and answered and not of the process that answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from sonnx.supervise.service import ServiceLimits


class LocalService:
    """As `sonnx.supervise.service.Service`, with the same messages; nothing ends it and it has no limits."""

    def __init__(self, module: str, arguments: Sequence[str], limits: ServiceLimits) -> None:
        self.answering = importlib.import_module(module).service(*arguments)

    def greeting(self, decode: Callable[[bytes], Any]) -> Any:
        """See `Service.greeting`."""
        return decode(self.answering.greeting())

    def ask(self, request: bytes, decode: Callable[[bytes], Any]) -> Any:
        """See `Service.ask`."""
        return decode(self.answering.answer(request))

    def end(self) -> None:
        """See `Service.end`."""
