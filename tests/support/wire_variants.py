"""Models in other forms of the wire format: what two readers of files must take for the same model.

Numbers of more bytes than needed, packed lists and single numbers for each other, a message in two parts, a value or a
member of a union that a later one replaces, fields in another order, unknown fields and groups.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor

from sonnx.report.coq_format import is_repeated

Field = tuple[int, int, bytes]
"""Number, wire type and value; the value of a field with a length is without the length."""
VARINT, EIGHT, DELIMITED, START, END, FOUR = range(6)
_UNKNOWN = 900
_UNDEFINED = b"\x63"
"""A number that no enumeration has: the format defines the field, and not its value."""
_RARE = 0.05
_DELIMITED = (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_MESSAGE)


def variant(chance: random.Random, data: bytes) -> bytes:
    """Another form of a model that protobuf wrote: most say the same, some have unknown fields."""
    return _rewritten(chance, onnx.ModelProto.DESCRIPTOR, data)


def number(value: int, extra: int = 0) -> bytes:
    """A number as bytes of seven bits, with bytes that add nothing."""
    digits = [value & 127]
    while value := value >> 7:
        digits.append(value & 127)
    digits += [0] * min(extra, 10 - len(digits))
    return bytes([*(128 + digit for digit in digits[:-1]), digits[-1]])


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message without groups."""
    place = 0
    while place < len(data):
        tag, place = _number_at(data, place)
        start = place
        match tag & 7:
            case 0:
                _, place = _number_at(data, place)
            case 1:
                place += 8
            case 5:
                place += 4
            case _:
                size, start = _number_at(data, place)
                place = start + size
        yield tag >> 3, tag & 7, data[start:place]


def _number_at(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 128:
            return value, place


def _rewritten(chance: random.Random, message: Any, data: bytes) -> bytes:
    known, parts = message.fields_by_number, list[tuple[int, bytes]]()
    for label, wire, value in fields(data):
        parts += ((label, _field(chance, *each)) for each in _forms(chance, known.get(label), (label, wire, value)))
        if chance.random() < 0.002:
            parts.append((0, _unknown(chance)))
    if chance.random() < _RARE:  # fields of one number stay in order, and members of a union
        unions = {field.number: field.containing_oneof.full_name for field in message.fields if field.containing_oneof}
        order = {label: chance.random() for label in dict.fromkeys(unions.get(label, label) for label, _ in parts)}
        parts.sort(key=lambda part: order[unions.get(part[0], part[0])])
    return b"".join(part for _, part in parts)


def _forms(chance: random.Random, described: Any, field: Field) -> list[Field]:
    """A field of a message as one or several that say the same."""
    label, wire, value = field
    if described is None:
        return [field]
    change = chance.random() < _RARE
    if described.containing_oneof is not None and chance.random() < _RARE:
        member = chance.choice(described.containing_oneof.fields)
        other = DELIMITED if member.cpp_type in _DELIMITED else VARINT
        if member.number != label:  # the later one replaces it
            return [(member.number, other, b"" if other == DELIMITED else b"\1"), *_forms(chance, described, field)]
    if described.message_type is not None:
        value = _rewritten(chance, described.message_type, value)
        halves = change and not is_repeated(described) and not _has_groups(value)
        return [(label, wire, part) for part in (_halves(chance, value) if halves else [value])]
    if not change:
        return [field]
    if described.enum_type is not None:
        return [field, (label, wire, _UNDEFINED)]
    if not is_repeated(described):  # the last counts
        return [(label, wire, b"\1" if wire == VARINT else value), field]
    if described.type in (described.TYPE_STRING, described.TYPE_BYTES):
        return [field]
    if wire != DELIMITED:
        return [(label, DELIMITED, value)]
    width = {described.TYPE_FLOAT: FOUR, described.TYPE_DOUBLE: EIGHT}.get(described.type, VARINT)
    return [(label, width, single) for single in (_numbers(value) if width == VARINT else _pieces(value, width))]


def _halves(chance: random.Random, value: bytes) -> list[bytes]:
    """A message as two that are merged."""
    inside = list(fields(value))
    cut = chance.randrange(len(inside) + 1)
    return [b"".join(_field(chance, *each) for each in part) for part in (inside[:cut], inside[cut:])]


def _has_groups(data: bytes) -> bool:
    """Whether an unknown field was added, which `fields` does not read."""
    return number(_UNKNOWN << 3 | START) in data


def _field(chance: random.Random, label: int, wire: int, value: bytes) -> bytes:
    extra = chance.randrange(4) if chance.random() < 0.03 else 0
    tag = number(label << 3 | wire, min(extra, 2))
    if wire == DELIMITED:
        return tag + number(len(value), extra) + value
    if wire == VARINT:
        return tag + number(_number_at(value, 0)[0], extra)
    return tag + value


def _unknown(chance: random.Random) -> bytes:
    inside = b"".join(
        number(7 << 3 | wire) + value
        for wire, value in ((VARINT, b"\5"), (FOUR, bytes(4)), (EIGHT, bytes(8)), (DELIMITED, b"\2ab"))
        if chance.random() < 0.5
    )
    match chance.randrange(3):
        case 0:
            return number(_UNKNOWN << 3 | DELIMITED) + number(len(inside)) + inside
        case 1:
            return number(_UNKNOWN << 3 | START) + inside + number(_UNKNOWN << 3 | END)
        case _:
            nested = number(3 << 3 | START) + inside + number(3 << 3 | END)
            return number(_UNKNOWN << 3 | START) + nested + inside + number(_UNKNOWN << 3 | END)


def _numbers(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        start = place
        _, place = _number_at(data, place)
        yield data[start:place]


def _pieces(data: bytes, width: int) -> Iterator[bytes]:
    size = 8 if width == EIGHT else 4
    return (data[start : start + size] for start in range(0, len(data), size))
