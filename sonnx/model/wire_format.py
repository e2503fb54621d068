"""The protobuf wire format: cuts the weights out of a model file before protobuf parses it.

A model file is a protobuf message: a sequence of fields, each a tag (field number and wire type) and a value
(https://protobuf.dev/programming-guides/encoding).  `cut` copies it field by field, replaces each long `raw_data`
payload of a tensor by a short token in the same place, and rewrites the lengths around it.  Nothing else is
interpreted, and no field is dropped or moved, so protobuf's own rules (the last of two payloads wins, two graphs merge,
unknown fields are kept) give the same result for the copy as for the file.

A file cannot forge a token: every payload of at least `TOKEN_LENGTH` bytes is replaced, so that after the cut a payload
of exactly `TOKEN_LENGTH` bytes is always one that `cut` wrote.  Therefore `resolve` only checks the length.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from sonnx.model.limits import COUNTED, Exceeded, Limits, enforce, enforce_density, exceeded

Message: TypeAlias = Any
"""A protobuf message or descriptor; their classes are made at run time, so type checkers do not know them."""

Buffer: TypeAlias = bytes | memoryview

TOKEN_LENGTH = 512
"""Bytes of a token.  Shorter submessages cannot contain a payload to cut, so they are copied without being read."""

MAX_DEPTH = 100
"""Levels of nested messages that protobuf parses; about 32 nested If."""
TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"

MAX_MESSAGE_BYTES = 2**31
"""Bytes of the smallest message that protobuf refuses."""

MAX_BYTES_COUNTED_LATER = 1 << 22
"""Bytes of a structure up to which the parts of short submessages are counted after protobuf has read them: few enough
for the memory that they take."""

MIN_RELEASED_BYTES = 1 << 18
"""Bytes of a payload whose pages are given back to the system, so that weights take no memory while a file is read."""

_PROSE = ("doc_string", "value", "string_data")
"""String fields that may be long."""

_VARINT, _EIGHT_BYTES, _BYTES, _GROUP, _GROUP_END, _FOUR_BYTES = range(6)


class Malformed(ValueError):
    """The bytes are not a protobuf message; the message says what is wrong, and at which byte of the file."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.offset = offset


class Layout(Struct, frozen=True, eq=False):
    """The submessages of a message: their layout by tag, None for the payload of a tensor."""

    name: str
    fields: dict[int, Layout | None] = {}
    names: set[int] = set()
    """The tags of string fields that are limited in length."""
    counted: dict[int, str] = {}
    """The limits that fields count for, by tag."""
    starts: re.Pattern[bytes] | None = None
    """A message without a byte that this matches is copied without being read: it has no submessage of these fields."""


class MessageBounds(NamedTuple):
    """Submessages shorter than `least` are copied without being read; a name longer than `name` is refused."""

    least: int
    name: int
    numbers: Counter[str]
    """The entries so far of fields that limits count, in messages that are not copied unread."""


def layout(descriptor: Message, layouts: dict[str, Layout] | None = None) -> Layout:
    """The layout of a message and of its submessages, from its protobuf descriptor."""
    layouts = {} if layouts is None else layouts
    if descriptor.full_name not in layouts:
        own = layouts[descriptor.full_name] = Layout(descriptor.name)
        for field in descriptor.fields:
            if field.full_name in COUNTED:
                own.counted[field.number << 3 | _BYTES] = COUNTED[field.full_name]
            if field.message_type is not None:
                own.fields[field.number << 3 | _BYTES] = layout(field.message_type, layouts)
            elif field.full_name == "onnx.TensorProto.raw_data":
                own.fields[field.number << 3 | _BYTES] = None
            elif field.type == field.TYPE_STRING and field.name not in _PROSE:
                own.names.add(field.number << 3 | _BYTES)
    return layouts[descriptor.full_name]


def cut(buffer: memoryview, message: Layout, allowed: Limits | None = None) -> bytes:
    """A copy of the message with a token in place of each long payload.

    Raises:
        Malformed: the bytes are not a message, or the copy is longer than protobuf parses.
        Exceeded: the copy, or a name in it, is longer than allowed.
    """
    bounds = MessageBounds(TOKEN_LENGTH, allowed["name"] if allowed else MAX_MESSAGE_BYTES, Counter())
    pieces = _guarded(buffer, message, bounds) or [buffer]
    size = _size(pieces)
    if allowed:
        _enforce(allowed, bounds.numbers, size)
        enforce(allowed, "structure", size)
    if size >= MAX_MESSAGE_BYTES:
        raise Malformed(f"has {size} bytes without its raw_data, more than the {MAX_MESSAGE_BYTES} protobuf parses,", 0)
    short = b"".join(pieces)
    if allowed and size > MAX_BYTES_COUNTED_LATER:
        everywhere = MessageBounds(0, MAX_MESSAGE_BYTES, Counter())
        _guarded(short, _with_parts(message), everywhere)
        _enforce(allowed, everywhere.numbers, size)
    return short


def _with_parts(message: Layout) -> Layout:
    """The layout of those submessages in which counted fields may be, at any depth."""
    holding = [each for each in _reached(message) if any(inner.counted for inner in _reached(each))]
    reduced = {}
    for layout in holding:
        tags = [tag for tag, inner in layout.fields.items() if inner in holding]
        firsts = bytes({tag & 127 | 128 for tag in tags} | {tag for tag in tags if tag < 128})  # a tag may be padded
        starts = None if layout.counted else re.compile(b"[" + re.escape(firsts) + b"]")
        reduced[layout] = Layout(layout.name, {}, set(), layout.counted, starts)
    for layout, copy in reduced.items():
        copy.fields.update((tag, reduced[inner]) for tag, inner in layout.fields.items() if inner in reduced)
    return reduced[message]


def _reached(message: Layout) -> set[Layout]:
    """The layouts of a message and of its submessages, at any depth."""
    layouts, waiting = {message}, [message]
    while waiting:
        inner = {field for field in waiting.pop().fields.values() if field} - layouts
        layouts |= inner
        waiting += inner
    return layouts


def _enforce(allowed: Limits, numbers: Counter[str], size: int) -> None:
    for name, number in numbers.items():
        enforce(allowed, name, number)
    enforce_density(allowed, numbers, size)


def check(buffer: memoryview, message: Layout) -> None:
    """Descend into every submessage, to find what is wrong with a message that protobuf refuses.

    Raises:
        Malformed: at the first byte that is wrong.
    """
    _guarded(buffer, message, MessageBounds(0, MAX_MESSAGE_BYTES, Counter()))


def resolve(payload: bytes, source: memoryview) -> memoryview:
    """The payload of a parsed tensor: the part of the file that a token names, else the bytes themselves."""
    if len(payload) != TOKEN_LENGTH:
        return memoryview(payload)
    offset, length = struct.unpack_from("<QQ", payload)
    return source[offset : offset + length]


def find(buffer: memoryview, number: int) -> memoryview:
    """The value of the only length-delimited field with this number in a message of protobuf; empty if absent."""
    position = 0
    while position < len(buffer):
        tag, position = _varint(buffer, position)
        after = _after(buffer, position, tag)
        if tag == number << 3 | _BYTES:
            return buffer[_varint(buffer, position)[1] : after]
        position = after
    return buffer[:0]


def _guarded(buffer: Buffer, message: Layout, bounds: MessageBounds) -> list[memoryview | bytes]:
    try:
        return _rewritten(buffer, 0, len(buffer), message, 0, bounds)
    except IndexError:  # checking the end at every byte would double the time
        raise Malformed("ends inside a field", len(buffer)) from None


def _rewritten(
    buffer: Buffer, position: int, end: int, message: Layout, depth: int, bounds: MessageBounds
) -> list[memoryview | bytes]:
    """The pieces of one message without its payloads; an empty list without a payload.

    This loop runs for each node and value of a model, hence the inlined reading of numbers of one byte.
    """
    if depth > MAX_DEPTH:
        raise Malformed(TOO_DEEP, position)
    if message.starts is not None and message.starts.search(buffer, position, end) is None:
        return []
    pieces: list[memoryview | bytes] = []
    kept, fields, least, counted = position, message.fields, bounds.least, message.counted
    while position < end:
        start = position
        tag = buffer[position]
        position += 1
        if tag > 127:
            tag, position = _varint(buffer, start)
        if tag & 7 != _BYTES or tag < 8:
            position = _after(buffer, position, tag)
            continue
        head = position
        size = buffer[position]
        position += 1
        if size > 127:
            size, position = _varint(buffer, head)
        after = position + size
        if after > end:
            raise Malformed(_beyond(message, size, after - end), start)
        if tag in counted:
            bounds.numbers[counted[tag]] += 1
        if size >= least:
            if tag in fields:
                inner = fields[tag]
                changed = (
                    _rewritten(buffer, position, after, inner, depth + 1, bounds) if inner else _token(position, size)
                )
                if changed:
                    pieces += bytes(buffer[kept:head]), _written(_size(changed)), *changed
                    kept = after
                    if inner is None and size >= MIN_RELEASED_BYTES:
                        _forget(buffer)
            elif size > bounds.name and tag in message.names:
                raise Exceeded(exceeded({"name": bounds.name}, "name", size))
        position = after
    if position > end:
        raise Malformed(_beyond(message, None, position - end), end)
    return [*pieces, buffer[kept:end]] if pieces else pieces


def _beyond(message: Layout, size: int | None, excess: int) -> str:
    what = "a field" if size is None else f"a field of {size} bytes"
    return f"is cut short or damaged: {what} reaches {excess} bytes beyond the end of its {message.name}"


def _token(offset: int, length: int) -> list[memoryview | bytes]:
    return [struct.pack("<QQ", offset, length).ljust(TOKEN_LENGTH, b"\0")]


def _forget(buffer: Buffer) -> None:
    """Give the pages of a mapped file back to the system: reading one byte maps up to two megabytes."""
    if isinstance(buffer, memoryview) and isinstance(buffer.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        buffer.obj.madvise(mmap.MADV_DONTNEED)


def _size(pieces: list[memoryview | bytes]) -> int:
    return sum(map(len, pieces))


def _after(buffer: Buffer, position: int, tag: int) -> int:
    """The position after the value at this position, with the wire type of the tag; it may be beyond the buffer."""
    if tag < 8:
        raise Malformed("is not a protobuf message: a field has the number 0", position - 1)
    return _after_value(buffer, position, tag)


def _after_value(buffer: Buffer, position: int, tag: int) -> int:
    """As `_after`, of a field with any number: protobuf does not look at the numbers inside a group that it skips."""
    match tag & 7:
        case 0:
            return _varint(buffer, position)[1]
        case 1:
            return position + 8
        case 2:
            size, position = _varint(buffer, position)
            return position + size
        case 3:
            return _after_group(buffer, position, tag)
        case 5:
            return position + 4
        case kind:
            raise Malformed(f"is not a protobuf message: a field has the wire type {kind}", position - 1)


def _after_group(buffer: Buffer, position: int, tag: int) -> int:
    """The position after the group that starts here (proto2 has groups, ONNX uses none)."""
    opened = [tag >> 3]
    while opened:
        tag, position = _varint(buffer, position)
        if tag & 7 == _GROUP:
            opened.append(tag >> 3)
            if len(opened) > MAX_DEPTH:
                raise Malformed(TOO_DEEP, position)
        elif tag & 7 != _GROUP_END:
            position = _after_value(buffer, position, tag)
        elif opened.pop() != tag >> 3:
            raise Malformed("is not a protobuf message: the end of a group does not match its start", position - 1)
    return position


def _varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The number at this position (seven bits per byte, lowest first), and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise Malformed("is not a protobuf message: a number of more than 10 bytes ends", position)


def _written(value: int) -> bytes:
    """The shortest encoding of a number, the inverse of `_varint`."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
