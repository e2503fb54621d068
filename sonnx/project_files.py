"""Files a project writes itself: TOML read with the reader of the catalogue, refused with one sentence."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TypeVar

from sonnx.misuse import Misuse
from sonnx.table import CatalogueError, Table

T = TypeVar("T")
LARGEST = 1 << 24
"""Bytes of a file that people write; a larger one is another kind of file."""


def read(path: str | os.PathLike[str], make: Callable[[Table, str, str], T]) -> T:
    """What `make` makes of the table, the base name and the SHA-256 of a file; every key must be taken.

    Raises:
        Misuse: where the file cannot be read, is no TOML, or is not of its format.
    """
    shown = os.fspath(path)
    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= LARGEST else b"\xff"
        table = Table(tomllib.loads(data.decode("utf-8")), PurePath(path).name)
        made = make(table, PurePath(path).name, hashlib.sha256(data).hexdigest())
        table.end()
    except OSError as error:
        raise Misuse(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Misuse(f"{shown} is no TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise Misuse(f"{shown} is no TOML: {error}") from None
    except CatalogueError as error:
        raise Misuse(f"{shown}: {error}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or tables nested as deep
        raise Misuse(f"{shown} is no TOML file that people write") from None
    return made


def sentence(table: Table, key: str) -> str:
    """One line of text that says something."""
    text = table.take(key, str).strip()
    if not text or not text.isprintable():
        raise CatalogueError(f"{table.place}.{key} is {'empty' if not text else 'not one line of printable text'}")
    return text
