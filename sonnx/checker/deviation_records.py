"""Deviation records: the file in which a project justifies failures, each with what, why, risk, who, and until when."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date

from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.profile.toml_files import CatalogueError, Table, sentence
from sonnx.profile.toml_files import read_file as read_project_file

PROJECT = "project"
"""The class of rules about files of the project."""


PROJECT_PREFIXES = ("deviation", "tailoring")
"""The prefixes of the slugs of such rules."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A finding by its place; also by what it states, where the place has several findings of the rule."""

    place: str
    states: str = ""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One record of a deviation."""

    id: str
    rule: str
    model: str
    """The SHA-256 of the model file."""
    findings: tuple[Covered, ...]
    reason: str
    risk: str
    approver: str
    expires: date
    """The last day on which it is valid."""


@dataclass(frozen=True, slots=True)
class Deviations:
    """A deviation file."""

    file: str
    sha256: str
    records: tuple[Deviation, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """The deviations applied to a model: the file, the date of the check, and the records evaluated."""

    file: str
    sha256: str
    date: date
    records: tuple[Deviation, ...]


def read(path: str | os.PathLike[str]) -> Deviations:
    """The records in a file.

    Raises:
        UsageError: the file does not have the format of docs/deviations.md, or names a rule that does not exist.
    """
    return read_project_file(path, _deviations)


def _deviations(table: Table, file: str, sha256: str) -> Deviations:
    listed = table.take("deviation", list)
    records = tuple(_record(Table(data, f"deviation[{index}]")) for index, data in enumerate(listed))
    repeated = [name for name, number in Counter(record.id for record in records).items() if number > 1]
    if repeated:
        raise CatalogueError(f"two records are called {repeated[0]!r}")
    if not records:
        raise CatalogueError("the file has no record")
    return Deviations(file, sha256, records)


def _record(table: Table) -> Deviation:
    name = sentence(table, "id")
    table.place = f"deviation {name!r}"
    rule, model, expires = sentence(table, "rule"), table.take("model", str), table.take("expires", date)
    if type(expires) is not date:
        raise CatalogueError(f"{table.place}.expires is a time, not a date such as 2027-03-31")
    if not re.fullmatch("[0-9a-f]{64}", model):
        raise CatalogueError(f"{table.place}.model is not a SHA-256 in 64 lower-case hexadecimal digits")
    if rule.partition(".")[0] in PROJECT_PREFIXES:
        raise CatalogueError(f"{table.place}.rule is {rule!r}, a rule of the project; change that rule instead")
    if rule not in rules_by_slug():
        raise CatalogueError(
            f"{table.place}.rule is {rule!r}, which is not the slug of a rule; `sonnx rules` lists them"
        )
    listed = table.take("findings", list)
    findings = [_covered(Table(data, f"{table.place}.findings[{index}]")) for index, data in enumerate(listed)]
    if not findings:
        raise CatalogueError(f"{table.place}.findings is empty: name each finding that the record justifies")
    reason, risk, approver = (sentence(table, key) for key in ("reason", "risk", "approver"))
    table.end()
    return Deviation(name, rule, model, tuple(findings), reason, risk, approver, expires)


def _covered(table: Table) -> Covered:
    place = sentence(table, "place")
    states = sentence(table, "states") if "states" in table.data else ""
    table.end()
    return Covered(place, states)


def _rule(name: str, statement: str, because: str, remedy: str) -> Rule:
    return Rule(f"deviation.{name}", "deviation", PROJECT, statement, because, remedy, "Deviations of this tool")
