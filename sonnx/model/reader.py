"""The gate: bytes in, a frozen `Model` out.  With `write.py` the only place that knows protobuf.

It maps the file, lets `wire.cut` leave the weights where they are, parses the rest with the message classes of the
installed onnx package, and copies what they say into `sonnx.model.ir`.  Nothing is judged here, but nothing the format
does not define passes unseen either: see `Model.unknown`.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType

from google.protobuf.message import DecodeError

from sonnx.model import wire_format
from sonnx.model.from_protobuf import Builder
from sonnx.model.ir import Model, Tensor, UnknownFields
from sonnx.model.limits import DEFAULT, Allowed, Exceeded
from sonnx.model.tensor_reader import Reader
from sonnx.model.type_reader import Types
from sonnx.model.wire_format import Message

WHOLE = 1 << 24
"""Bytes of a file that is read at once; whatever happens to it afterwards does not matter."""

_GENERATED = "onnx.onnx_ml_pb2"


class Unreadable(Exception):
    """The bytes are no model: one sentence that says what is wrong and where."""


def read(
    source: str | os.PathLike[str] | bytes | memoryview, name: str = "the model", limits: Allowed = DEFAULT
) -> Model:
    """The model in a file or in bytes, which messages call by `name`.

    A file of more than `WHOLE` bytes is mapped and must not be changed while the model is in use: its weights are read
    from it on demand, and where it was shortened the system ends the process.

    Raises:
        Unreadable: if there is no such file, if it does not parse, if it has no graph, or if it exceeds a limit.
    """
    if isinstance(source, bytes | memoryview):
        content = memoryview(source)
    else:
        name = repr(os.fspath(source))
        content = mapped(source, name)
    try:
        return _read(content, name, limits)
    except Exceeded as error:
        raise Unreadable(f"{name} {error}") from None


def _read(source: memoryview, name: str, limits: Allowed) -> Model:
    if not source:
        raise Unreadable(f"{name} is empty")
    short = _cut(source, name, limits)
    message = _parsed(short, source, name)
    if not message.HasField("graph"):
        raise Unreadable(f"{name} {_likeness(source) or 'has no graph'}")
    unknown = _unknown(message, short)
    with _no_collection():
        return _builder(source, limits).model(message, unknown)


def _builder(source: memoryview, limits: Allowed) -> Builder:
    elements = element_names()
    return Builder(attribute_kinds(), Reader(source, elements, limits), Types(elements, limits), limits)


# ------------------------------------------------------------------ bytes


def mapped(path: str | os.PathLike[str], name: str) -> memoryview:
    """The bytes of a file, read only when they are looked at."""
    with _opened(path, name) as descriptor:
        if os.fstat(descriptor).st_size <= WHOLE:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return memoryview(file.read())
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))


def contents(path: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of a file, read once: for whoever must know that what is hashed is what is judged."""
    with _opened(path, name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read()


@contextmanager
def _opened(path: str | os.PathLike[str], name: str) -> Iterator[int]:
    """A regular file that is not empty, as an open descriptor."""
    try:
        # Without waiting, so that a pipe nobody writes to is an error and no standstill.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        if Path(path).is_dir():  # some systems refuse to open a folder at all
            raise Unreadable(f"{name} is a folder") from None
        raise Unreadable(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        _require_regular(descriptor, name)
        yield descriptor
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _require_regular(descriptor: int, name: str) -> None:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable(f"{name} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{name} is not a regular file; a model from a pipe must be saved first")
    if not status.st_size:
        raise Unreadable(f"{name} is empty")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: it would look through every finished node again and again, and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ------------------------------------------------------------------ protobuf


@cache
def generated() -> ModuleType:
    """The message classes of the installed onnx package, without running the package.

    `import onnx` takes most of the time of a check and loads numpy.  The module gets the name it would have there, so
    that an import of onnx before or after shares its classes.
    """
    if _GENERATED in sys.modules or "onnx" in sys.modules:
        return importlib.import_module(_GENERATED)
    package = importlib.util.find_spec("onnx")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the onnx package is not installed", name="onnx")
    path = Path(package.submodule_search_locations[0]) / "onnx_ml_pb2.py"
    specification = importlib.util.spec_from_file_location(_GENERATED, path)
    assert specification is not None and specification.loader is not None  # noqa: S101  (a .py file has a loader)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return sys.modules.setdefault(_GENERATED, module)


@cache
def _layout() -> wire_format.Layout:
    return wire_format.layout(generated().ModelProto.DESCRIPTOR)


@cache
def element_names() -> MappingProxyType[int, str | None]:
    """Element types by number, named as in `sonnx.model.ir.WIDTH`; UNDEFINED is None."""
    names = {number: name.lower() for name, number in generated().TensorProto.DataType.items()}
    return MappingProxyType(names | {0: None})


@cache
def attribute_kinds() -> MappingProxyType[int, str]:
    """Attribute kinds by number, in lower case."""
    kinds = generated().AttributeProto.AttributeType.items()
    return MappingProxyType({number: name.lower() for name, number in kinds})


def _cut(source: memoryview, name: str, limits: Allowed) -> bytes:
    try:
        return wire_format.cut(source, _layout(), limits)
    except wire_format.Malformed as error:
        raise Unreadable(f"{name} {_likeness(source) or error}") from None


def _parsed(short: bytes, source: memoryview, name: str) -> Message:
    try:
        return generated().ModelProto.FromString(short)
    except DecodeError as error:
        raise Unreadable(f"{name} {_likeness(source) or _reason(source, error)}") from None


def _reason(source: memoryview, error: DecodeError) -> str:
    """Why protobuf refused a message; its own words name no place."""
    try:
        wire_format.check(source, _layout())
    except wire_format.Malformed as found:
        return str(found)
    return f"is no ONNX model: {str(error).rpartition(': ')[2]}"


def _likeness(source: memoryview) -> str:
    """What the bytes are instead of a model: another format, or the first message that defines all fields."""
    if known := likeness(source):
        return known
    kinds = ("GraphProto", "TensorProto", "NodeProto", "FunctionProto", "ValueInfoProto", "TypeProto")
    return next((f"is a {kind}, not a ModelProto" for kind in kinds if _reads_as(source, kind)), "")


def _reads_as(source: memoryview, kind: str) -> bool:
    made = getattr(generated(), kind)
    try:
        message = made.FromString(wire_format.cut(source, wire_format.layout(made.DESCRIPTOR)))
    except (wire_format.Malformed, DecodeError):
        return False
    return len(message.ListFields()) > 1 and not _has_unknown(message)


# ------------------------------------------------------------------ content the format does not define


def _has_unknown(message: Message) -> bool:
    """Whether a message holds unknown fields anywhere; discards them."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() != size)


def _unknown(message: Message, short: bytes) -> tuple[UnknownFields, ...]:
    """Unknown fields, each once per place; parsed again to be found, because the cheap test discards them."""
    if not _has_unknown(message):
        return ()
    return tuple(dict.fromkeys(_located(generated().ModelProto.FromString(short), "")))


def _located(message: Message, place: str) -> Iterator[UnknownFields]:
    from google.protobuf.unknown_fields import UnknownFieldSet  # only the rare file that has some pays for it

    fields = UnknownFieldSet(message)
    for index in range(len(fields)):
        yield UnknownFields(place or "model", fields[index].field_number)
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            inside = f"{place}/{descriptor.name}" if place else descriptor.name
            yield from _located_in(value, inside)


def _located_in(value: Message, place: str) -> Iterator[UnknownFields]:
    if hasattr(value, "ListFields"):
        yield from _located(value, place)
        return
    for index, one in enumerate(value):
        yield from _located(one, f"{place}[{index}]")


# ------------------------------------------------------------------
# Names what a file is when it is no model, from its first bytes.


MARKS = (
    (0, b"version https://git-lfs", "is a Git LFS pointer, not the model itself: run git lfs pull"),
    (0, b"PK\x03\x04", "is a ZIP archive (a PyTorch or Keras file may be one), not an ONNX model"),
    (0, b"\x1f\x8b", "is compressed with gzip, not an ONNX model"),
    (0, b"BZh", "is compressed with bzip2, not an ONNX model"),
    (0, b"\xfd7zXZ\0", "is compressed with xz, not an ONNX model"),
    (0, b"\x28\xb5\x2f\xfd", "is compressed with Zstandard, not an ONNX model"),
    (0, b"\x89HDF\r\n\x1a\n", "is an HDF5 file (Keras), not an ONNX model"),
    (0, b"\x93NUMPY", "is a NumPy array, not an ONNX model"),
    (0, b"\x80\x02", "is a Python pickle, not an ONNX model"),
    (0, b"\x7fELF", "is a program (ELF), not an ONNX model"),
    (4, b"ORTM", "is in the ORT format, not ONNX: check the model it was made from"),
    (4, b"TFL3", "is a TensorFlow Lite model, not ONNX"),
)

_TEXT = {"<": "is HTML or XML, not an ONNX model", "{": "is JSON text, not an ONNX model in binary protobuf"}


def likeness(source: memoryview) -> str:
    """What the bytes look like, as the end of a sentence; empty where they look like nothing known."""
    first = bytes(source[:64])
    for offset, mark, words in MARKS:
        if first[offset:].startswith(mark):
            return words
    text = first.decode("latin-1")
    if not all(" " <= sign <= "~" or sign in "\t\n\r" for sign in text):
        return ""
    return _TEXT.get(text.lstrip()[:1], "is text, not an ONNX model in binary protobuf")


def read_tensor(source: memoryview) -> Tensor:
    """The tensor of a file that holds one TensorProto, as the onnx package writes its test data.

    Raises:
        Unreadable: the file holds no TensorProto.
    """
    kind = generated().TensorProto
    try:
        message = kind.FromString(wire_format.cut(source, wire_format.layout(kind.DESCRIPTOR)))
    except (DecodeError, wire_format.Malformed) as error:
        raise Unreadable(str(error)) from None
    return Reader(source, element_names()).tensor(message)
