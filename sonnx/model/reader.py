"""The reader: from the bytes of a file to a frozen `Model`.  Only this module and `writer.py` import protobuf.

It maps the file, cuts the weights out (`wire_format.cut`), parses the rest with the message classes of the installed
onnx package, and converts the messages into the objects of `sonnx.model.ir`.  It does not check the model, but it
records every field that the format does not define: see `Model.unknown`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.message import Message as ProtobufMessage

from sonnx.base.errors import Unreadable
from sonnx.model import wire_format
from sonnx.model.from_protobuf import Builder, SharedAttributes
from sonnx.model.ir import Model, Tensor, UnknownField
from sonnx.model.limits import DEFAULT_LIMITS, Exceeded, Limits
from sonnx.model.tensor_reader import Reader
from sonnx.model.type_reader import Types
from sonnx.model.wire_format import Message

MAX_BYTES_READ_AT_ONCE = 1 << 24
"""Bytes up to which a file is read at once, so that later changes of the file do not matter; larger ones are mapped."""

NO_MEMORY = "Arena alloc failed"
"""What protobuf's exception says of a lack of memory."""

_GENERATED = "onnx.onnx_ml_pb2"


def read(
    source: str | os.PathLike[str] | bytes | memoryview,
    name: str = "the model",
    limits: Limits = DEFAULT_LIMITS,
    folder: Path | None = None,
    attributes: SharedAttributes | None = None,
) -> Model:
    """The model in a file or in bytes; messages call it `name`.

    `attributes` are those of models that were read before: equal ones are one object, so that equal calls are known
    again.

    The file system is asked for the size of each file of external data: in `folder`, by default that of the file.
    For bytes without a folder it is not asked.

    A file of more than `MAX_BYTES_READ_AT_ONCE` bytes is mapped, and its weights are read on demand.  It must not be
    changed while the model is in use: if it is shortened, the system ends the process.

    Raises:
        Unreadable: the file does not exist, does not parse, has no graph, or exceeds a limit.
    """
    if isinstance(source, bytes | memoryview):
        content = memoryview(source)
    else:
        name = repr(os.fspath(source))
        content = map_file(source, name)
        folder = folder or Path(source).parent
    try:
        return _model_of(content, name, limits, folder, {} if attributes is None else attributes)
    except Exceeded as error:
        raise Unreadable(f"{name} {error}") from None


def _model_of(
    source: memoryview, name: str, limits: Limits, folder: Path | None, attributes: SharedAttributes
) -> Model:
    if not source:
        raise Unreadable(f"{name} is empty")
    short = _cut(source, name, limits)
    message = _parsed(short, source, name)
    unknown = _unknown(message, short)
    if not message.HasField("graph"):
        described = _described(source) if unknown else ""  # every other message has fields that a model does not have
        raise Unreadable(f"{name} {described or 'has no graph'}")
    elements = element_names()
    types, tensors = Types(elements, limits), Reader(source, elements, limits, folder)
    builder = Builder(attribute_kinds(), tensors, types, len(short), limits, shared=attributes)
    return builder.model(message, unknown)


def message_of(source: str | os.PathLike[str] | bytes, limits: Limits = DEFAULT_LIMITS) -> Message:
    """The message of a model that `read` accepts, without its weights: what `Model` does not keep stands there."""
    content = memoryview(source) if isinstance(source, bytes) else map_file(source, repr(os.fspath(source)))
    return _parsed(_cut(content, "the model", limits), content, "the model")


def map_file(path: str | os.PathLike[str], name: str) -> memoryview:
    """The bytes of a file; of a large one they are read on access."""
    with _opened(path, name) as descriptor:
        if os.fstat(descriptor).st_size <= MAX_BYTES_READ_AT_ONCE:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return memoryview(file.read())
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))


def file_bytes(path: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of a file, read once, so that the bytes that are hashed are those that are checked."""
    with _opened(path, name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read()


@contextmanager
def _opened(path: str | os.PathLike[str], name: str) -> Iterator[int]:
    """An open descriptor of a regular file that is not empty."""
    try:
        # Do not wait: a pipe without a writer is an error.
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


@cache
def message_classes() -> Any:
    """The message classes of the installed onnx package by name, without importing the package.

    `import onnx` takes most of the time of a check and loads numpy, and the module that protobuf generates for it loads
    twenty modules of protobuf.  So the description of the format is read from the text of that module, and the classes
    are made of it; an import of onnx, before or after, shares them.
    """
    if _GENERATED in sys.modules or "onnx" in sys.modules:
        return importlib.import_module(_GENERATED)
    package = importlib.util.find_spec("onnx")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the onnx package is not installed", name="onnx")
    path = f"{package.submodule_search_locations[0]}/onnx_ml_pb2.py"
    return _described_classes(path) or _generated_classes(path)


_DESCRIPTION = r"^DESCRIPTOR = .*\.AddSerializedFile\((b'.*')\)$"
"""The serialized description of the format in a module that protobuf generated."""


def _described_classes(path: str) -> SimpleNamespace | None:
    """The classes from the description in a generated module; None if protobuf does not run as its C library."""
    library = getattr(api_implementation, "_c_module", None)  # not public: the generated module is the other way
    description = re.search(_DESCRIPTION, Path(path).read_text("utf-8"), re.MULTILINE)
    if api_implementation.Type() != "upb" or library is None or description is None:
        return None
    described = library.default_pool.AddSerializedFile(ast.literal_eval(description[1]))
    return SimpleNamespace(**_classes(library.MessageMeta, described.message_types_by_name, ""))


def _classes(make: type, described: Mapping[str, Message], outer: str) -> dict[str, type]:
    """The classes of messages, as protobuf itself makes them; those of inner messages are attributes of the outer."""
    classes = {}
    for name, descriptor in described.items():
        inner = _classes(make, descriptor.nested_types_by_name, f"{outer}{name}.")
        place = {"DESCRIPTOR": descriptor, "__module__": _GENERATED, "__qualname__": f"{outer}{name}"}
        classes[name] = make(name, (ProtobufMessage,), {**inner, **place})
    return classes


def _generated_classes(path: str) -> Any:
    """The message classes of the module that protobuf generated, loaded under its usual name."""
    specification = importlib.util.spec_from_file_location(_GENERATED, path)
    assert specification is not None and specification.loader is not None  # noqa: S101  (a .py file has a loader)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return sys.modules.setdefault(_GENERATED, module)


@cache
def _layout() -> wire_format.Layout:
    return wire_format.layout(message_classes().ModelProto.DESCRIPTOR)


@cache
def element_names() -> MappingProxyType[int, str | None]:
    """Element types by number, named as in `sonnx.model.ir.WIDTH`; UNDEFINED is None."""
    names = {number: name.lower() for name, number in message_classes().TensorProto.DataType.items()}
    return MappingProxyType(names | {0: None})


@cache
def attribute_kinds() -> MappingProxyType[int, str]:
    """Attribute kinds by number, in lower case."""
    kinds = message_classes().AttributeProto.AttributeType.items()
    return MappingProxyType({number: name.lower() for name, number in kinds})


def _cut(source: memoryview, name: str, limits: Limits) -> bytes:
    try:
        return wire_format.cut(source, _layout(), limits)
    except wire_format.Malformed as error:
        raise Unreadable(f"{name} {_described(source) or error}") from None


def _parsed(short: bytes, source: memoryview, name: str) -> Message:
    try:
        return message_classes().ModelProto.FromString(short)
    except DecodeError as error:
        _require_memory(error)
        reason = _reason(source, error)
        if not reason.startswith(wire_format.TOO_DEEP):  # what it is too deep for is a model
            reason = _described(source) or reason
        raise Unreadable(f"{name} {reason}") from None


def _require_memory(error: DecodeError) -> None:
    """Refuse to take a lack of memory for a malformed message: protobuf reports both by the same exception.

    Raises:
        MemoryError: the message was not read for lack of memory.
    """
    if str(error).endswith(NO_MEMORY):
        raise MemoryError(NO_MEMORY)


def _reason(source: memoryview, error: DecodeError) -> str:
    """Why protobuf refused a message, and where; its own message does not say where."""
    try:
        wire_format.check(source, _layout())
    except wire_format.Malformed as malformed:
        return str(malformed)
    return f"is not an ONNX model: {str(error).rpartition(': ')[2]}"


def _described(source: memoryview) -> str:
    """The description of bytes that are not a model: another format, or the first message that defines all fields."""
    if other := other_format(source):
        return other
    kinds = ("GraphProto", "TensorProto", "NodeProto", "FunctionProto", "ValueInfoProto", "TypeProto")
    return next((f"is a {kind}, not a ModelProto" for kind in kinds if _reads_as(source, kind)), "")


def _reads_as(source: memoryview, kind: str) -> bool:
    message_class = getattr(message_classes(), kind)
    try:
        message = message_class.FromString(wire_format.cut(source, wire_format.layout(message_class.DESCRIPTOR)))
    except wire_format.Malformed:
        return False
    except DecodeError as error:
        _require_memory(error)
        return False
    return len(message.ListFields()) > 1 and not _has_unknown(message)


def _has_unknown(message: Message) -> bool:
    """Whether a message has unknown fields at any depth; discards them."""
    try:
        size = message.ByteSize()
        message.DiscardUnknownFields()
        return bool(message.ByteSize() != size)
    except EncodeError as error:  # protobuf encodes every message that it has read, if there is memory
        raise MemoryError(NO_MEMORY) from error


def _unknown(message: Message, short: bytes) -> tuple[UnknownField, ...]:
    """Unknown fields, each once per place; the message is parsed again, because the fast test discards them."""
    if not _has_unknown(message):
        return ()
    return tuple(dict.fromkeys(_located(message_classes().ModelProto.FromString(short), "")))


def _located(message: Message, place: str) -> Iterator[UnknownField]:
    from google.protobuf.unknown_fields import UnknownFieldSet  # most files have no unknown fields

    fields, defined = UnknownFieldSet(message), message.DESCRIPTOR.fields_by_number
    for index in range(len(fields)):
        number = fields[index].field_number
        yield UnknownField(place or "model", number, defined[number].name if number in defined else "")
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            inside = f"{place}/{descriptor.name}" if place else descriptor.name
            yield from _located_in(value, inside)


def _located_in(value: Message, place: str) -> Iterator[UnknownField]:
    if hasattr(value, "ListFields"):
        yield from _located(value, place)
        return
    for index, item in enumerate(value):
        yield from _located(item, f"{place}[{index}]")


FILE_SIGNATURES = (
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

_TEXT_FORMATS = (
    (r"<\s*(?:ir_version|opset_import|producer_name|producer_version|domain|model_version|doc_string|metadata_props)\s*:",
     "is in the ONNX text form, not in binary protobuf: onnx.parser.parse_model reads it"),
    (r"(?:ir_version|opset_import|producer_name|producer_version|domain|model_version|graph)\s*[:{]",
     "is in the text form of protobuf, not in binary protobuf: google.protobuf.text_format reads it"),
    (r"<", "is HTML or XML, not an ONNX model"),
    (r"\{", "is JSON text, not an ONNX model in binary protobuf"),
)  # fmt: skip
"""How texts begin after blanks, and what they are."""


def other_format(source: memoryview) -> str:
    """The known format that the first bytes belong to, as the end of a sentence; "" for an unknown one."""
    first = bytes(source[:64])
    for offset, signature, description in FILE_SIGNATURES:
        if first[offset:].startswith(signature):
            return description
    text = first.decode("latin-1")
    if not all(" " <= sign <= "~" or sign in "\t\n\r" for sign in text):
        return ""
    known = (description for pattern, description in _TEXT_FORMATS if re.match(pattern, text.lstrip()))
    return next(known, "is text, not an ONNX model in binary protobuf")


def read_tensor(source: memoryview) -> Tensor:
    """The tensor in the bytes of a TensorProto, the format of the test data of the onnx package.

    Raises:
        Unreadable: the bytes are not a TensorProto.
    """
    kind = message_classes().TensorProto
    try:
        message = kind.FromString(wire_format.cut(source, wire_format.layout(kind.DESCRIPTOR)))
    except wire_format.Malformed as error:
        raise Unreadable(f"it {error}") from None
    except DecodeError as error:
        _require_memory(error)
        raise Unreadable(str(error)) from None
    return Reader(source, element_names()).tensor(message)
