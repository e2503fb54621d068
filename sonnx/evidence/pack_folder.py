"""What the folder of an evidence pack contains: regular files, and whatever else is in it, which is a fault.

A pack is what its manifest lists.  A link, a device, a pipe, or a folder without a file is not content that a hash
covers, and unpacking or copying the pack would change it: each is named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import whole_bytes

KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)
MAX_DEPTH = 8
"""Folders inside each other; a pack nests three."""


class PackContent(Struct, frozen=True):
    """What is in the folder of a pack."""

    files: Mapping[str, bytes]
    """The content of each regular file by its path, in order."""
    others: tuple[str, ...]
    """What else there is, each as a clause: "theorems/x is a link"."""


def content_of_folder(folder: Path) -> PackContent:
    """Read a folder; links in it are not followed.

    Raises:
        BadInput: a file cannot be read.
    """
    files, others = dict[str, bytes](), list[str]()
    for path, other in _entries(folder, MAX_DEPTH):
        name = path.relative_to(folder).as_posix()
        if other:
            others.append(f"{quote(name)} is {other}")
            continue
        try:
            files[name] = whole_bytes(path)
        except OSError as error:
            raise BadInput(f"{quote(str(path))} cannot be read: {error.strerror}") from None
    return PackContent(dict(sorted(files.items())), tuple(sorted(others)))


def _entries(folder: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """Each regular file with "", and everything else with what it is."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(f"{quote(str(folder))} cannot be read: {error.strerror}") from None
    if not entries:
        yield folder, "an empty folder"
    for entry in entries:
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            yield Path(entry.path), ""
        elif stat.S_ISDIR(mode):
            inside = _entries(Path(entry.path), depth - 1) if depth else [(Path(entry.path), "nested too deeply")]
            yield from inside
        else:
            yield Path(entry.path), next((word for is_kind, word in KINDS if is_kind(mode)), "not a regular file")
