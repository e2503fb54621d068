"""What the public functions take as a model, as the path or the bytes of a file."""

from __future__ import annotations

import os
import sys
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol, TypeAlias

ACCEPTED = (
    "the path of a file, the bytes of a file, a binary file object, an onnx.ModelProto, an onnx_ir.Model or a "
    "torch.onnx.ONNXProgram"
)


class ModelMessage(Protocol):
    """A protobuf message such as `onnx.ModelProto`, recognised by its method."""

    def SerializeToString(self) -> bytes:  # noqa: N802  (protobuf's name)
        """The encoded message."""


class ExportedProgram(Protocol):
    """What an exporter returns, such as `torch.onnx.ONNXProgram`, recognised by its attribute."""

    @property
    def model_proto(self) -> ModelMessage:
        """The model."""


class IrModel(Protocol):
    """An `onnx_ir.Model`, recognised by its class."""

    @property
    def opset_imports(self) -> dict[str, int]:
        """The operator sets by domain."""


Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | BinaryIO | ModelMessage | ExportedProgram | IrModel
"""A model: the path of a file, the bytes of a file, or an object that has them."""


def path_or_bytes(source: Source) -> str | os.PathLike[str] | bytes:
    """The source as a path or bytes.

    Raises:
        TypeError: an object that is none of `ACCEPTED`.
    """
    if isinstance(source, str | os.PathLike | bytes):
        return source
    if isinstance(source, bytearray | memoryview):
        return bytes(source)
    return _bytes_of(source)


def _bytes_of(source: Any) -> bytes:
    package = sys.modules.get("onnx_ir")
    if package is not None and isinstance(source, package.Model):
        source = package.to_proto(source)
    elif not isinstance(source, type) and hasattr(source, "model_proto"):
        source = source.model_proto
    if not isinstance(source, type):
        if callable(getattr(source, "SerializeToString", None)):
            return bytes(source.SerializeToString())
        if callable(getattr(source, "read", None)):
            data = source.read()
            if isinstance(data, bytes | bytearray):
                return bytes(data)
            raise TypeError(f"a model is read from a binary file, not from a {type(source).__name__} of text")
    raise TypeError(f"a model is {ACCEPTED}, not {type(source).__name__!r}")


def name_of(source: str | os.PathLike[str] | bytes, name: str | None) -> str:
    """What a result calls a model: the name it is given, or the base name of its file."""
    return name or ("model" if isinstance(source, bytes) else PurePath(source).name)
