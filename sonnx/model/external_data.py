"""External data: files in the folder of a model with the values of its constants."""

from __future__ import annotations

from pathlib import Path

from sonnx.base.escaping import quote
from sonnx.model.ir import External
from sonnx.model.reader import Unreadable, map_file


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
    if not location or base not in path.parents:
        raise OutsideFolder("is not in the folder of the model")
    return path


def external_bytes(folder: Path, external: External) -> memoryview | None:
    """The bytes of external data, None where they cannot be read or offset and length exceed the file."""
    entries = dict(external.entries)
    if any(key in entries and getattr(external, key) is None for key in ("offset", "length")):
        return None
    try:
        data = map_file(resolve_location(folder, external.location), quote(external.location))
    except (OutsideFolder, Unreadable):
        return None
    start = external.offset or 0
    end = len(data) if external.length is None else start + external.length
    return data[start:end] if 0 <= start <= end <= len(data) else None
