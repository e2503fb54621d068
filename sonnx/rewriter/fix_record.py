"""The record of rewrites that `sonnx fix --report` writes, as others read it: which file came of which, how, and why.

Nothing here rewrites.  `sonnx/report/rewrites.schema.json` describes the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sonnx.checker.report import Verdict
from sonnx.profile.toml_files import JSON, CatalogueError, Table
from sonnx.profile.toml_files import read as read_project_file

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Side:
    """The model before or after: its base name (empty where no file was written), SHA-256, verdict, and findings."""

    model: str
    sha256: str
    verdict: Verdict
    findings: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite: what stood at a place and what stands there now; `theorem` and `changes` may be empty."""

    kind: str
    rules: tuple[str, ...]
    place: str
    name: str
    operator: str
    before: str
    after: str
    theorem: str
    changes: str


@dataclass(frozen=True, slots=True)
class Left:
    """What a rule still says, with what a person can do, and each reason with its places."""

    rule: str
    verdict: Verdict
    remedy: str
    reasons: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record: `said` is what was compared between both models, `done` whether that were the models in full."""

    file: str
    sha256: str
    tool: str
    edition: str
    original: Side
    rewritten: Side
    rewrites: tuple[Rewrite, ...]
    left: tuple[Left, ...]
    done: bool
    said: str


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file.

    Raises:
        Misuse: where the file cannot be read, or is no such record.
    """
    return read_project_file(path, _record, JSON)


def _record(table: Table, file: str, digest: str) -> Record:
    found = table.take("format", int)
    if found != FORMAT:
        raise CatalogueError(f"it is a record of format {found}, and this tool reads format {FORMAT}")
    tool = _inner(table, "tool")
    if tool.take("name", str) != "sonnx":
        raise CatalogueError(f"{tool.place}.name is not sonnx")
    version = tool.take("version", str)
    tool.end()
    table.take("exit", int)
    compared = _inner(table, "validation")
    made = Record(
        file,
        digest,
        version,
        table.take("edition", str),
        _side(_inner(table, "original")),
        _side(_inner(table, "rewritten")),
        tuple(map(_rewrite, _listed(table, "rewrites"))),
        tuple(map(_left, _listed(table, "left"))),
        compared.take("done", bool),
        compared.take("said", str),
    )
    for key in ("asked", "inputs", "outputs", "elements", "without_value"):
        compared.take(key, int)
    compared.take("bits", bool)
    for key in ("since", "left_out", "beyond"):
        _names(compared, key)
    for key in ("because", "open"):
        _text(compared, key)
    compared.end()
    return made


def _side(table: Table) -> Side:
    number = sum(map(_number, _listed(table, "findings")))
    made = Side(_text(table, "model"), table.take("sha256", str), _verdict(table), number)
    table.end()
    return made


def _number(table: Table) -> int:
    table.take("rule", str)
    _verdict(table)
    number = table.take("number", int)
    table.end()
    return number


def _rewrite(table: Table) -> Rewrite:
    where = _inner(table, "where")
    where.take("kind", str)
    made = Rewrite(
        table.take("kind", str),
        _names(table, "rules"),
        where.take("place", str),
        where.take("name", str),
        _text(where, "operator"),
        table.take("before", str),
        table.take("after", str),
        _text(table, "theorem"),
        _text(table, "changes"),
    )
    where.end()
    table.end()
    return made


def _left(table: Table) -> Left:
    table.take("number", int)
    reasons = tuple(map(_reason, _listed(table, "reasons")))
    made = Left(table.take("rule", str), _verdict(table), table.take("remedy", str), reasons)
    table.end()
    return made


def _reason(table: Table) -> tuple[str, tuple[str, ...]]:
    made = table.take("reason", str), _names(table, "places")
    table.end()
    return made


# ------------------------------------------------------------------ the pieces


def _inner(table: Table, key: str) -> Table:
    return Table(table.take(key, dict), f"{table.place}.{key}")


def _listed(table: Table, key: str) -> Iterator[Table]:
    items: list[Any] = table.take(key, list)
    for index, each in enumerate(items):
        yield Table(each, f"{table.place}.{key}[{index}]")


def _names(table: Table, key: str) -> tuple[str, ...]:
    if key not in table.data:
        raise CatalogueError(f"{table.place} lacks {key}")
    return table.names(key)


def _text(table: Table, key: str) -> str:
    """A text that may be null, which is empty then."""
    if key in table.data and table.data[key] is None:
        del table.data[key]
        return ""
    return table.take(key, str)


def _verdict(table: Table) -> Verdict:
    said = table.take("verdict", str)
    if said not in {each.value for each in Verdict}:
        raise CatalogueError(f"{table.place}.verdict is {said!r}, which is no verdict")
    return Verdict(said)
