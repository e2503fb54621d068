"""The messages between a process and its children: a kind, a length, and so many bytes.

What the bytes are is up to the service that answers.  Both sides decode them into stated types; nothing is unpickled.
"""

from __future__ import annotations

from enum import IntEnum
from typing import IO, NamedTuple

from msgspec import ValidationError

LENGTH_BYTES = 8
MAX_LENGTH = 1 << 40
"""Bytes of a message from a process without a memory limit; a longer one is malformed."""
CHUNK = 1 << 20
"""Bytes that are read at once: the length that a process states is not believed before the bytes have come."""


class Kind(IntEnum):
    """What a message is."""

    MESSAGE = 0
    """A request or an answer."""
    OUT_OF_MEMORY = 1
    """The memory limit did not suffice for the request; the process ends."""
    FAILED = 2
    """The request raised an unexpected error, which is the text of the message; the process ends."""


class Frame(NamedTuple):
    """A message that was read."""

    kind: Kind
    data: bytes | bytearray


def send(stream: IO[bytes], data: bytes, kind: Kind = Kind.MESSAGE) -> None:
    """Write a message; a stream without a buffer may take it in parts."""
    for part in (bytes([kind]) + len(data).to_bytes(LENGTH_BYTES, "little"), data):
        rest = memoryview(part)
        while rest:
            rest = rest[stream.write(rest) :]
    stream.flush()


def receive(stream: IO[bytes], most: int = MAX_LENGTH) -> Frame:
    """Read a message of at most so many bytes.

    Raises:
        EOFError: the stream ends before the message does.
        ValidationError: it is malformed.
    """
    head = _read(stream, 1 + LENGTH_BYTES)
    length = int.from_bytes(head[1:], "little")
    if head[0] not in set(Kind) or length > most:
        raise ValidationError("the head of a message")
    return Frame(Kind(head[0]), _read(stream, length))


def _read(stream: IO[bytes], size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        part = stream.read(min(size - len(data), CHUNK))
        if not part:
            raise EOFError
        data += part
    return data
