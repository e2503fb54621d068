"""Tables of restrictions/ as Python values, stored beside Python's bytecode, so that a check parses no TOML.

A stored table counts only if it begins with the hash of the text that it was made of (PEP 552 has the same for
bytecode).  It is trusted as bytecode is: whoever can write it can change the program itself.
"""

from __future__ import annotations

import marshal
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any

from sonnx.base.files import write_whole
from sonnx.profile.toml_files import loads


def table(path: Path, name: str) -> dict[str, Any]:
    """The table in a TOML file; messages call it `name`.

    Raises:
        CatalogueError: the file is not valid TOML.
        OSError: the file cannot be read.
    """
    text = path.read_bytes()
    if sys.implementation.cache_tag is None:  # an interpreter that stores no bytecode
        return loads(text.decode("utf-8"), name)
    head, place = MAGIC_NUMBER + source_hash(text), Path(cache_from_source(path)).with_suffix(".table")
    stored = stored_values(place, head)
    if stored is None:
        stored = loads(text.decode("utf-8"), name)
        store_values(place, head, stored)
    return stored


def stored_values(place: Path, head: bytes) -> dict[str, Any] | None:
    """What is stored in a file that begins with the head, None where there is nothing of it."""
    if sys.implementation.cache_tag is None:
        return None
    try:
        data = place.read_bytes()
        return dict(marshal.loads(data[len(head) :])) if data.startswith(head) else None  # noqa: S302  as bytecode
    except (OSError, ValueError, EOFError, TypeError):
        return None


def store_values(place: Path, head: bytes, values: dict[str, Any]) -> None:
    """Store values beside bytecode, as Python does; where that cannot be written, each process makes them."""
    if sys.dont_write_bytecode or sys.implementation.cache_tag is None:
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, head + marshal.dumps(values))
    except (OSError, ValueError):  # a value that marshal does not know, such as a date
        return
