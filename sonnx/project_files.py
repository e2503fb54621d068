"""Files that come with a model, TOML or JSON: read with the reader of the catalogue, refused with one sentence."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar

from sonnx.misuse import Misuse
from sonnx.table import CatalogueError, Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How such files are written; one of more bytes than the largest is another kind of file."""

    name: str
    writers: str
    loads: Callable[[str], Any]
    error: type[ValueError]
    """What `loads` raises where a text is not of this form."""
    largest: int


TOML = Form("TOML", "people write", tomllib.loads, tomllib.TOMLDecodeError, 1 << 24)
JSON = Form("JSON", "this tool writes", json.loads, json.JSONDecodeError, 1 << 28)


def read(path: str | os.PathLike[str], make: Callable[[Table, str, str], T], form: Form = TOML) -> T:
    """What `make` makes of the table, the base name and the SHA-256 of a file; every key must be taken.

    Raises:
        Misuse: where the file cannot be read, is not of its form, or is not of its format.
    """
    shown = os.fspath(path)
    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= form.largest else b"\xff"
        table = Table(form.loads(data.decode("utf-8")), PurePath(path).name)
        made = make(table, PurePath(path).name, hashlib.sha256(data).hexdigest())
        table.end()
    except OSError as error:
        raise Misuse(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Misuse(f"{shown} is no {form.name} file") from None
    except form.error as error:
        raise Misuse(f"{shown} is no {form.name}: {error}") from None
    except CatalogueError as error:
        said, base = str(error), PurePath(path).name
        raise Misuse(f"{shown}{said[len(base) :]}" if said.startswith(base) else f"{shown}: {said}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or tables nested as deep
        raise Misuse(f"{shown} is no {form.name} file that {form.writers}") from None
    return made


def sentence(table: Table, key: str) -> str:
    """One line of text that says something."""
    text = table.take(key, str).strip()
    if not text or not text.isprintable():
        raise CatalogueError(f"{table.place}.{key} is {'empty' if not text else 'not one line of printable text'}")
    return text
