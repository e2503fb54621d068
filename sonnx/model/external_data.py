"""External data: files in the folder of a model with the values of its constants."""

from __future__ import annotations

import stat
from pathlib import Path

OUTSIDE = "is not in the folder of the model"


class OutsideFolder(ValueError):
    """A file does not exist, or is not in the folder of the model; the message is half a sentence."""


def resolve_location(folder: Path, location: str) -> Path:
    """The file at a location, with all links resolved.

    Raises:
        OutsideFolder: it does not exist, or is not in the folder.
    """
    try:
        base = folder.resolve(strict=True)
        path = (base / location).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise OutsideFolder("does not exist") from None
    if leaves_folder(location) or base not in path.parents:
        raise OutsideFolder(OUTSIDE)
    return path


def leaves_folder(location: str) -> bool:
    """Whether a location is not the relative path of a file inside a folder, on any system and without asking the file
    system; a path that ends in / names a folder.
    """
    parts = location.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or ":" in parts[0] or parts[-1] in ("", ".")


def file_size(folder: Path, location: str) -> int | str:
    """The bytes of the file at a location, or half a sentence on why it cannot be used; the file is not opened."""
    if leaves_folder(location):  # then the file system is not asked
        return OUTSIDE
    try:
        status = resolve_location(folder, location).stat()
    except OutsideFolder as reason:
        return str(reason)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return status.st_size if stat.S_ISREG(status.st_mode) else "is not a regular file"
