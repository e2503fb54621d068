"""Messages on a pipe: eight bytes of length, then the content."""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write one message."""
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None where the other side has gone, even in the middle of one."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = pipe.read(length)
    return content if len(content) == length else None
