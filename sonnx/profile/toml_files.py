"""Strict reading of TOML and JSON into typed structures, for the catalogue and for the files of a project.

An unknown key, a missing key or a value of another type is a `CatalogueError` that names file, key and value; for a
file of a project it becomes a `UsageError`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, ValidationError, convert, json

from sonnx.base.errors import UsageError
from sonnx.base.files import regular_bytes, sha256
from sonnx.base.printable import is_printable
from sonnx.language.domain import Expression, Parsed, RuleError
from sonnx.language.parser import parse

T = TypeVar("T")
MadeT = TypeVar("MadeT")


class CatalogueError(ValueError):
    """A table does not have the expected format; the message names file, key and value."""


def structure(data: object, kind: type[T], place: str) -> T:
    """The data as a structure.

    Raises:
        CatalogueError: the data have another format; `place` begins the message.
    """
    try:
        return convert(data, kind, builtin_types=(date,))
    except ValidationError as error:
        raise CatalogueError(_sentence(data, kind, place, str(error))) from None


_STEP = r"\.(\w+)|\[(\d+|\.\.\.)\]"
MAX_SHOWN = 60
"""Characters of a wrong value that a message shows."""
_TYPES = {"array": "list", "object": "table", "null": ""}


def _sentence(data: object, kind: object, place: str, message: str) -> str:
    """The message of msgspec with file, key and value.

    It ends in a place: "... - at `$.inputs[...].tags[0]`", where `...` is a key of a table that is not named.
    """
    what, _, where = message.partition(" - at `")
    steps: list[Any] = []
    wrong: Any = data
    for name, index in re.findall(_STEP, where):
        steps.append(_wrong_key(data, kind, steps, wrong, message) if index == "..." else name or int(index))
        place += f"[{index}]" if index.isdecimal() else f".{steps[-1]}"
        wrong = wrong[steps[-1]]
    if where.startswith("key` in"):
        wrong, place = _wrong_key(data, kind, steps, wrong, message), f"a key of {place}"
    shown = repr(wrong) if len(repr(wrong)) <= MAX_SHOWN else f"{repr(wrong)[:MAX_SHOWN]}..."
    kinds, expected = (what.split("`")[1], what.split("`")[2]) if "`" in what else ("", "")
    if what.startswith("Object missing"):
        return f"{place} lacks {kinds}"
    if what.startswith("Object contains unknown"):
        return f"{place} has unknown {kinds}"
    if expected.startswith(", got"):
        names = (_TYPES.get(part, part) for part in kinds.split(" | "))
        return f"{place} is {shown}, not of type {' or '.join(filter(None, names))}"
    if expected == " of length >= 1":
        return f"{place} is empty"
    if what.startswith("Expected"):
        return f"{place} is {shown}, expected {_TYPES.get(kinds, kinds)}{expected}"
    return f"{place} is {shown}, which is not a known word" if what.startswith("Invalid enum") else f"{place} {what}"


def _wrong_key(data: object, kind: object, steps: Sequence[Any], table: Mapping[str, object], message: str) -> str:
    """The key of a table, at these steps in the data, that the message is about: it is wrong alone too."""
    for key, value in table.items():
        try:
            convert(_with(data, steps, {key: value}), kind, builtin_types=(date,))
        except ValidationError as error:
            if str(error) == message:
                return key
    return "..."


def _with(data: Any, steps: Sequence[Any], value: object) -> Any:
    """A copy of the data with another value at the end of these steps."""
    if not steps:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[steps[0]] = _with(copy[steps[0]], steps[1:], value)
    return copy


def expression(text: str, place: str) -> Expression:
    """The expression in a source text of the rule language, parsed when more than its text is first needed.

    A text that is not of the language raises `CatalogueError` there, with the place.
    """
    return Expression(text, partial(_parsed, text, place))


def _parsed(text: str, place: str) -> Parsed:
    try:
        return parse(text).parsed
    except RuleError as error:
        raise CatalogueError(f"{place}: {error}") from error


def numbered(values: Mapping[str, T]) -> dict[int, T]:
    """The values of a table keyed by version numbers, ascending.

    Raises:
        CatalogueError: a key is not a version number.
    """
    wrong = [key for key in values if not (key.isascii() and key.isdecimal())]
    if wrong:
        raise CatalogueError(f"{', '.join(map(repr, wrong))} is not a version number")
    return {int(key): values[key] for key in sorted(values, key=int)}


def by_version(values: Mapping[str, T] | T) -> dict[int, T]:
    """The values of a table by version, ascending; a single value holds from version 1 on."""
    return numbered(values) if isinstance(values, Mapping) else {1: values}


def loads(text: str, place: str) -> dict[str, Any]:
    """The table in a TOML text.

    Raises:
        CatalogueError: the text is not valid TOML.
    """
    try:
        return _toml(text)
    except MalformedText as error:
        raise CatalogueError(f"{place} is not valid TOML: {error}") from error


class MalformedText(ValueError):
    """A text does not have its format; the message says what is wrong."""


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # a check takes the tables of restrictions/ as they are stored

    if any(key[0].count(".") >= MAX_KEY_PARTS for key in re.finditer(KEY, text, re.MULTILINE)):
        raise MalformedText(f"a key has more than {MAX_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MalformedText(str(error)) from error
    except (ValueError, RecursionError):  # a number of thousands of digits, or tables nested as deep
        raise MalformedText("it is nested too deeply, or has a number that is too long") from None


MAX_KEY_PARTS = 8
"""Parts of a key cost time for each entry of its table; no file of the project nests so deep."""
KEY = r"^[^=\]\n\"']*[=\]]"
"""What stands before a value, or is the heading of a table, without quotes.

No two ways match a part of a line, so that the search takes time in proportion to the text.
"""


def _json(text: str) -> Any:
    try:
        return json.decode(text)
    except DecodeError as error:
        raise MalformedText(str(error)) from error
    except RecursionError:
        raise MalformedText("it is nested too deeply") from None


class FileFormat(NamedTuple):
    """The format of a file that comes with a model."""

    name: str
    loads: Callable[[str], Any]
    """Raises `MalformedText` where a text has another format."""
    max_bytes: int
    """A larger file is refused unread."""


TOML = FileFormat("TOML", _toml, 1 << 20)
JSON = FileFormat("JSON", _json, 1 << 28)


def read_project_file(
    path: str | os.PathLike[str],
    kind: type[T],
    make: Callable[[T, str, str], MadeT],
    file_format: FileFormat = TOML,
) -> MadeT:
    """The result of `make` for the structure, the base name and the SHA-256 of a file.

    Raises:
        UsageError: the file cannot be read, is not TOML or JSON, or does not have the expected keys and values.
    """
    source, base = os.fspath(path), PurePath(path).name
    value, data = read_value(path, file_format)
    try:
        return make(structure(value, kind, base), base, sha256(data))
    except CatalogueError as error:
        message = str(error)
        text = f"{source}{message[len(base) :]}" if message.startswith(base) else f"{source}: {message}"
        raise UsageError(text) from None


def read_value(path: str | os.PathLike[str], file_format: FileFormat = TOML) -> tuple[Any, bytes]:
    """The value that a file states, and its bytes, read once.

    Raises:
        UsageError: the file is not a regular one, cannot be read, is too long, or is not TOML or JSON.
    """
    source = os.fspath(path)
    try:
        data = regular_bytes(Path(path), file_format.max_bytes + 1)
        if len(data) > file_format.max_bytes:
            raise UsageError(f"{source} is not a {file_format.name} file of at most {file_format.max_bytes} bytes")
        return file_format.loads(data.decode("utf-8")), data
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{source} is not a {file_format.name} file") from None
    except MalformedText as error:
        raise UsageError(f"{source} is not valid {file_format.name}: {error}") from None


def basic_string(text: str) -> str:
    """A text without control characters as a basic string of TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def one_line(text: str, place: str) -> str:
    """One line of printable text, not empty."""
    text = text.strip()
    if not text or not is_printable(text):
        raise CatalogueError(f"{place} is {'empty' if not text else 'not one line of printable text'}")
    return text
