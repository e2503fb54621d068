"""The file of `--resume`: results are kept while a run goes on, so that a later run of the same work takes them.

The file has a JSON value on each line.  The first line states the kind of the work and everything that its results
depend on (`Identity`): a file that was written for something else is refused.  Each further line sets values by key and
drops keys, both or neither.  A line that was not written completely is ignored, and so is one that is not such a line:
a caller whose values depend on each other checks that none is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import json_value, regular_bytes, write_whole
from sonnx.supervise.identity import Identity, differing

MAX_BYTES = 1 << 30
"""Bytes of the longest file that is read."""
SPARE_BYTES = 1 << 20
"""Bytes of dropped values at which the file is written anew, if they are also more than the half of it."""


class Journal:
    """Values by key in a file; each change is in the file when `update` returns.

    Args:
        path: the file; it is created where it does not exist.
        kind: the name of the work.
        identity: what the values depend on.

    Raises:
        BadInput: the file is not a journal, too long, or of other work.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path, kind: str, identity: Identity) -> None:
        self.path, self.values = path, dict[str, Any]()
        self._lock = Lock()
        self._lengths: dict[str, int] = {}
        self._head = _line({"sonnx": "journal", "kind": kind, "of": dict(identity)})
        content = _content(path)
        whole = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        self.is_new = len(whole) < 2
        """Whether the file had no line behind its head."""
        if not content:
            self._size = len(self._head)
            write_whole(path, self._head)
            return
        self._require_equal(whole[0] if whole else b"", kind, identity)
        for line in whole[1:]:
            self._apply(_value(line), len(line))
        self._size = sum(map(len, whole))
        os.truncate(path, self._size)  # an incomplete last line

    def update(self, values: Mapping[str, Any], dropped: Iterable[str] = ()) -> None:
        """Set values, each a JSON value, and drop keys; after a kill the file has all of the change or nothing.

        Raises:
            OSError: the file cannot be written.
        """
        change: dict[str, Any] = {"set": dict(values)}
        if keys := [*dropped]:
            change["drop"] = keys
        line = _line(change)
        with self._lock:
            self._apply(change, len(line))
            self._size += len(line)
            kept = sum(self._lengths.values())
            if self._size - kept > max(SPARE_BYTES, kept):
                self._write_anew()
                return
            try:
                with self.path.open("ab") as file:
                    file.write(line)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None

    def _write_anew(self) -> None:
        lines = [self._head, *(_line({"set": {key: value}}) for key, value in self.values.items())]
        self._size = sum(map(len, lines))
        write_whole(self.path, b"".join(lines))

    def _apply(self, change: Any, length: int) -> None:
        """Apply a change of a line of some bytes, which may come from a damaged file."""
        if not isinstance(change, dict):
            return
        values, dropped = change.get("set"), change.get("drop", [])
        if not isinstance(values, dict) or not isinstance(dropped, list):
            return
        for key in dropped:
            if isinstance(key, str):
                self.values.pop(key, None)
                self._lengths.pop(key, None)
        for key, value in values.items():
            self.values[key] = value
            self._lengths[key] = length // len(values)

    def _require_equal(self, line: bytes, kind: str, identity: Identity) -> None:
        head, shown = _value(line), quote(str(self.path))
        if not isinstance(head, dict) or head.get("sonnx") != "journal" or not isinstance(head.get("of"), dict):
            raise BadInput(f"{shown} is not a --resume journal; name another file")
        if head.get("kind") != kind:
            raise BadInput(f"{shown} was written for another command; name another file")
        different = differing(head["of"], identity)
        if different is not None:
            name = different if different in identity else "version of sonnx"
            raise BadInput(f"{shown} was written for another {name}; name another file")


def _content(path: Path) -> bytes:
    shown = quote(str(path))
    if not path.exists():
        return b""
    if not path.is_file():
        raise BadInput(f"{shown} is not a regular file; name another file")
    content = regular_bytes(path, MAX_BYTES)
    if len(content) == MAX_BYTES:
        raise BadInput(f"{shown} has {MAX_BYTES} bytes or more; name another file")
    return content


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _value(line: bytes) -> Any:
    """The value of a line, None if it is damaged."""
    try:
        return json_value(line)
    except ValueError:
        return None
