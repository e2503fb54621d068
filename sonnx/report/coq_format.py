"""The file format of ONNX for the program extracted from the formalization.

Its reader knows messages, element types and attribute kinds by these lines, so that both checkers know the same version
of the format.  `(unprintable …)` has the ranges of characters that no name may have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sonnx.language.coq import text
from sonnx.model.reader import attribute_kinds, element_names, message_classes

FORMAT = "format.txt"


def format_lines() -> Iterator[str]:
    """The messages that a model file may have, then the names of numbers, then the characters."""
    waiting, known = [message_classes().ModelProto.DESCRIPTOR], set[str]()
    while waiting:
        message = waiting.pop()
        if message.full_name not in known:
            known.add(message.full_name)
            yield f"(message {text(message.full_name)} {' '.join(map(_field, message.fields))})"
            waiting += [field.message_type for field in message.fields if field.message_type is not None]
    for number, element in sorted(element_names().items()):
        yield f"(element {number} {text(element or '')})"
    for number, kind in sorted(attribute_kinds().items()):
        yield f"(kind {number} {text(kind)})"
    yield f"(unprintable {' '.join(f'({first} {last})' for first, last in _unprintable())})"


def _field(field: Any) -> str:
    """Number, name, type, whether it is repeated, its union, and the message or the numbers of an enum."""
    kinds = {
        field.TYPE_FLOAT: "float", field.TYPE_DOUBLE: "double", field.TYPE_INT64: "int64", field.TYPE_UINT64: "uint64",
        field.TYPE_INT32: "int32", field.TYPE_STRING: "string", field.TYPE_BYTES: "bytes", field.TYPE_ENUM: "enum",
        field.TYPE_MESSAGE: "message",
    }  # fmt: skip
    inner = [text(field.message_type.full_name)] if field.message_type else []
    numbers = [str(value.number) for value in field.enum_type.values] if field.enum_type else []
    union = text(field.containing_oneof.name) if field.containing_oneof else '""'
    repeated = "T" if is_repeated(field) else "F"
    return f"({field.number} {text(field.name)} {kinds[field.type]} {repeated} {union} {' '.join(inner + numbers)})"


def is_repeated(field: Any) -> bool:
    """Whether a field of a message of protobuf holds a list."""
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)  # protobuf before 6.31


def _unprintable() -> Iterator[tuple[int, int]]:
    first = None
    for code in range(sys.maxunicode + 2):
        printable = code > sys.maxunicode or chr(code).isprintable()
        if printable and first is not None:
            yield first, code - 1
            first = None
        elif not printable and first is None:
            first = code
