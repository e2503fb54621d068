"""Strict reading of TOML tables, for the catalogue and for files of a project (tailoring, deviations, fixes).

An unknown key, a missing key or a value of another type is a `CatalogueError` that names the place; for a file of a
project it becomes a `UsageError`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path, PurePath
from typing import Any, TypeVar

from sonnx.base.errors import UsageError
from sonnx.language.domain import Expression, RuleError
from sonnx.language.parser import parse
from sonnx.profile.definitions import Tag

T = TypeVar("T")


class CatalogueError(ValueError):
    """A table does not have the expected format; the message names file and key."""


class Table:
    """One TOML table; `end` refuses the keys that were not taken."""

    def __init__(self, data: Mapping[str, Any], place: str) -> None:
        if not isinstance(data, Mapping):
            raise CatalogueError(f"{place} is not a table")
        self.data, self.place = dict(data), place

    def take(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of a key, which must have the given type; without a default it must be present."""
        value = self.data.pop(key, default)
        if value is None:
            raise CatalogueError(f"{self.place} lacks {key}")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise CatalogueError(f"{self.place}.{key} is {value!r}, not of type {kind.__name__}")
        return value

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """The value of a key, None where it is absent."""
        return self.take(key, kind) if key in self.data else None

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, empty where the key is absent."""
        return strings(self.data.pop(key, []), f"{self.place}.{key}")

    def expression(self, key: str) -> Expression | None:
        """An expression of the rule language, None where the key is absent."""
        return parsed(self.data.pop(key), f"{self.place}.{key}") if key in self.data else None

    def tags(self, key: str = "tags") -> tuple[Tag, ...]:
        """A list of tags, empty where the key is absent."""
        return tuple(read_record(Tag, Table(tag, f"{self.place}.{key}")) for tag in self.take(key, list, []))

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """The named tables below a key, in the order of the file."""
        for name, data in self.take(key, dict, {}).items():
            yield name, Table(data, f"{self.place}.{key}.{name}")

    def versioned(self, key: str) -> dict[int, Any]:
        """Values by version; a single value holds from version 1 on."""
        value = self.data.pop(key, {})
        return by_version(value, f"{self.place}.{key}") if isinstance(value, Mapping) else {1: value}

    def expressions(self, key: str) -> dict[int, Expression]:
        """Expressions of the rule language by version."""
        place = f"{self.place}.{key}"
        return {version: parsed(text, place) for version, text in self.versioned(key).items()}

    def implied_by(self) -> dict[int, tuple[str, ...]]:
        """Names of rules, by version where they differ."""
        place = f"{self.place}.implied_by"
        return {version: strings(names, place) for version, names in self.versioned("implied_by").items()}

    def end(self) -> None:
        """Refuse keys that were not taken."""
        if self.data:
            raise CatalogueError(f"{self.place} has unknown {', '.join(sorted(self.data))}")


def strings(values: object, place: str) -> tuple[str, ...]:
    """A list of strings as a tuple."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise CatalogueError(f"{place} is not a list of strings")
    return tuple(values)


def parsed(text: object, place: str) -> Expression:
    """The expression in a source text of the rule language."""
    if not isinstance(text, str):
        raise CatalogueError(f"{place} is {text!r}, not an expression of the rule language")
    try:
        return parse(text)
    except RuleError as error:
        raise CatalogueError(f"{place}: {error}") from error


def reasons(table: Table, key: str) -> dict[int, str]:
    """Sentences by version."""
    reasons = by_version(table.take(key, dict, {}), f"{table.place}.{key}")
    if not all(isinstance(reason, str) for reason in reasons.values()):
        raise CatalogueError(f"{table.place}.{key} has a value that is not a sentence")
    return reasons


def numbers(values: object, place: str) -> tuple[int, ...]:
    """A list of integers as a tuple."""
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise CatalogueError(f"{place} is not a list of integers")
    return tuple(values)


def by_version(data: Mapping[str, T], place: str) -> dict[int, T]:
    """The values of a table keyed by version numbers, ascending."""
    if not all(key.isdecimal() for key in data):
        raise CatalogueError(f"the keys of {place} must be version numbers, not {', '.join(data)}")
    return {int(key): data[key] for key in sorted(data, key=int)}


def read_record(record: type[T], table: Table, **given: Any) -> T:
    """A dataclass whose fields are read from the keys of the same names; `given` are the values of other fields.

    Fields may be strings, integers, booleans, lists of strings and lists of tags.
    """
    values = dict(given)
    for each in fields(record):  # type: ignore[arg-type]
        if each.name in values or each.name not in table.data:
            continue
        if str(each.type) == "tuple[Tag, ...]":
            values[each.name] = table.tags(each.name)
        elif str(each.type) == "tuple[str, ...]":
            values[each.name] = table.names(each.name)
        else:
            kinds: dict[str, type] = {"int": int, "bool": bool}
            values[each.name] = table.take(each.name, kinds.get(str(each.type).removesuffix(" | None"), str))
    missing = [each.name for each in fields(record) if each.default is MISSING and each.name not in values]  # type: ignore[arg-type]
    if missing:
        raise CatalogueError(f"{table.place} lacks {', '.join(missing)}")
    table.end()
    return record(**values)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The format of a file that comes with a model."""

    name: str
    loads: Callable[[str], Any]
    error: type[ValueError]
    """What `loads` raises where a text has another format."""
    max_bytes: int
    """A larger file is refused unread."""


TOML = FileFormat("TOML", tomllib.loads, tomllib.TOMLDecodeError, 1 << 24)
JSON = FileFormat("JSON", json.loads, json.JSONDecodeError, 1 << 28)


def read_file(path: str | os.PathLike[str], make: Callable[[Table, str, str], T], file_format: FileFormat = TOML) -> T:
    """The result of `make` for the table, the base name and the SHA-256 of a file; every key must be taken.

    Raises:
        UsageError: the file cannot be read, is not TOML or JSON, or does not have the expected keys and values.
    """
    source = os.fspath(path)
    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= file_format.max_bytes else b"\xff"
        table = Table(file_format.loads(data.decode("utf-8")), PurePath(path).name)
        result = make(table, PurePath(path).name, hashlib.sha256(data).hexdigest())
        table.end()
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{source} is not a {file_format.name} file") from None
    except file_format.error as error:
        raise UsageError(f"{source} is not valid {file_format.name}: {error}") from None
    except CatalogueError as error:
        message, base = str(error), PurePath(path).name
        text = f"{source}{message[len(base) :]}" if message.startswith(base) else f"{source}: {message}"
        raise UsageError(text) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or tables nested as deep
        raise UsageError(f"{source} is nested too deeply, or has a number that is too long") from None
    return result


def sentence(table: Table, key: str) -> str:
    """One line of printable text, not empty."""
    text = table.take(key, str).strip()
    if not text or not text.isprintable():
        raise CatalogueError(f"{table.place}.{key} is {'empty' if not text else 'not one line of printable text'}")
    return text
