"""A profile as a value: the folder of its data, and what was read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sonnx.base.resources import folder as installed_folder

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class Catalogue:
    """A profile: the folder of its data, None for that of the installation, and what was read of it.

    Several can be in use in one process, each in its own threads or tasks:

        with Catalogue(Path("restrictions")).in_use():
            report = sonnx.check("model.onnx")
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._read: dict[Any, Any] = {}

    @property
    def folder(self) -> Path:
        """The folder of its data.

        Raises:
            FileNotFoundError: that of the installation is missing.
        """
        return installed_folder("restrictions") if self._folder is None else self._folder

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Read this profile in the body, in this thread or task."""
        token = _IN_USE.set(self)
        try:
            yield
        finally:
            _IN_USE.reset(token)

    def forget(self) -> None:
        """Read the data again when they are asked for: for tools that change the data or the code that reads them."""
        self._read.clear()

    def value_of(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """What a function gives for this profile; it is called once for the same arguments."""
        key = function, arguments
        if key not in self._read:
            self._read[key] = function(*arguments)
        value: Value = self._read[key]
        return value


INSTALLED = Catalogue()
"""The profile that comes with the tool."""
_IN_USE: ContextVar[Catalogue] = ContextVar("catalogue", default=INSTALLED)


def in_use() -> Catalogue:
    """The profile in use, that of the installation unless another one is chosen."""
    return _IN_USE.get()


def of_profile(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """A function of the profile in use and of positional arguments, which is called once for the same arguments."""

    @wraps(function)
    def remembered(*arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        assert not named, "what is remembered has positional arguments"  # noqa: S101
        return _IN_USE.get().value_of(function, *arguments)

    return remembered
