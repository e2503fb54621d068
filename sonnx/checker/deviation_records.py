"""Deviation records: the file in which a project justifies failures, each with what, why, risk, who, and until when."""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import date
from typing import Annotated, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.reported import HIDDEN
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.profile.text_types import Limit, Line, Sha256, Text
from sonnx.profile.toml_files import CatalogueError, one_line, read_project_file

PROJECT: Literal["project"] = "project"
"""The class of rules about files of the project."""


PROJECT_PREFIXES = ("deviation", "tailoring")
"""The prefixes of the slugs of such rules."""


Day = Annotated[date, Limit(day="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
FIRST_DAY = "0001-01-01"
"""An expired date; in a file to be filled in, so that every record must be given one."""


class Covered(Struct, frozen=True, forbid_unknown_fields=True):
    """A finding by its place; also by what it states, where the place has several findings of the rule."""

    place: Line
    """The place of the failure, as the report states it: graph/node[4]."""
    states: Line | Literal[""] = ""
    """The message of the failure; needed where one place has several failures of the rule."""


class DeviationRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """One record of a deviation."""

    id: Line
    """The name of the record, once in the file."""
    rule: Line
    """The slug of the restriction that is deviated from."""
    model: Sha256
    """The SHA-256 of the model file, as the JSON report states it."""
    findings: Annotated[tuple[Covered, ...], Limit(min_length=1), HIDDEN]
    """Each failure the record is about, once."""
    reason: Line
    """Why the failure is accepted."""
    risk: Line
    """What can happen because of it."""
    approver: Line
    """Who accepted it."""
    expires: Day
    """The last day on which the record is valid; in TOML a day without quotes."""


class DeviationsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Deviations: failures that a project justifies, docs/deviations.md."""

    deviation: Annotated[tuple[DeviationRecord, ...], Limit(min_length=1)]
    """The records, each about one rule and one model."""


class Deviations(Struct, frozen=True):
    """A deviation file."""

    file: str
    sha256: str
    records: tuple[DeviationRecord, ...]


class Applied(Struct, frozen=True):
    """A deviations file."""

    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    date: date
    """The day on which records must not have expired."""
    records: tuple[DeviationRecord, ...]
    """The records that apply to this model: those with its hash, and those whose model is not in this run."""


def read(path: str | os.PathLike[str]) -> Deviations:
    """The records in a file.

    Raises:
        UsageError: the file does not have the format of docs/deviations.md, or names a rule that does not exist.
    """
    return read_project_file(path, DeviationsFile, _deviations)


def _deviations(written: DeviationsFile, file: str, sha256: str) -> Deviations:
    return Deviations(file, sha256, require_distinct(tuple(map(_checked, written.deviation))))


class Named(Protocol):
    """A record of a file."""

    @property
    def id(self) -> str:
        """Its name."""


NamedT = TypeVar("NamedT", bound=Named)


def require_distinct(records: tuple[NamedT, ...]) -> tuple[NamedT, ...]:
    """The records of a file.

    Raises:
        CatalogueError: there are none, or two have one name.
    """
    repeated = [name for name, number in Counter(record.id for record in records).items() if number > 1]
    if repeated:
        raise CatalogueError(f"two records are called {repeated[0]!r}")
    if not records:
        raise CatalogueError("the file has no record")
    return records


def require_digest(sha256: str, place: str) -> None:
    """Refuse what a record must not have in the place of a digest.

    Raises:
        CatalogueError: it is not a SHA-256 in hexadecimal digits.
    """
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise CatalogueError(f"{place} is not a SHA-256 in 64 lower-case hexadecimal digits")


_SENTENCES = ("id", "rule", "reason", "risk", "approver")


def _checked(written: DeviationRecord) -> DeviationRecord:
    place = f"deviation {written.id!r}"
    record = replace(
        written,
        **{key: one_line(getattr(written, key), f"{place}.{key}") for key in _SENTENCES},
        findings=tuple(_covered(finding, f"{place}.findings") for finding in written.findings),
    )
    require_digest(record.model, f"{place}.model")
    if not record.findings:
        raise CatalogueError(f"{place}.findings is empty: name each finding that the record justifies")
    if record.rule.partition(".")[0] in PROJECT_PREFIXES:
        raise CatalogueError(f"{place}.rule is {record.rule!r}, a rule of the project; change that rule instead")
    if record.rule not in rules_by_slug():
        raise CatalogueError(
            f"{place}.rule is {record.rule!r}, which is not the slug of a rule; `sonnx rules` lists them"
        )
    return record


def _covered(written: Covered, place: str) -> Covered:
    return Covered(one_line(written.place, place), written.states and one_line(written.states, place))


def _rule(name: str, statement: str, because: str, remedy: str) -> Rule:
    return Rule(f"deviation.{name}", "deviation", PROJECT, statement, because, remedy, "Deviations of this tool")
