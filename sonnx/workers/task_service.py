"""What a child process of a run does: it answers each request by the function `answer` of the module of the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.workers.tasks import Answer, decoded_message, encoded_message


class TaskService:
    """See `sonnx.supervise.child.Answering`."""

    def __init__(self, module: str) -> None:
        work = import_module(module)
        work.prepare()
        self.work: Callable[[Mapping[str, Any]], Answer] = work.answer

    def greeting(self) -> bytes:
        """Nothing: the process is ready."""
        return b""

    def answer(self, request: bytes | bytearray) -> bytes:
        """The answer of the module, or `misuse`, the sentence on a wrong option."""
        try:
            return encoded_message(self.work(decoded_message(request)))
        except UsageError as error:
            return encoded_message({"misuse": str(error)})


def service(module: str) -> TaskService:
    """What answers the requests of a run.

    Args:
        module: has the functions `prepare`, called once, and `answer`.
    """
    return TaskService(module)
