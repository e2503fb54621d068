"""Objectives of standards, what the tool gives towards each, and what remains for the applicant (objectives.toml)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Literal

from msgspec import Struct, convert, to_builtins

from sonnx.evidence.data_files import entries

FORMAT = 1
PACK, KIT = "pack/", "kit/"
"""What the name of a file begins with: an evidence pack, or a qualification kit."""
HEADS = ("objective", "asks", "the tool gives", "by", "remains for the applicant", "source")
INTRODUCTION = """\
What the tool gives towards objectives of standards, and what remains for the applicant. The texts of the standards are
paraphrased; *by title* marks a row whose source gives only the identifier or the title, so that the row follows it. No
conformity to a standard is claimed: the project and its authority decide which apply and whether the data suffice."""


class Objective(Struct, frozen=True, forbid_unknown_fields=True):
    """Objectives of a standard that have one answer; objectives.toml describes the fields."""

    id: tuple[str, ...]
    asks: str
    named_by: Literal["objective", "title"]
    gives: str
    remains: str
    source: str
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Standard(Struct, frozen=True, forbid_unknown_fields=True):
    """A standard with its objectives, and the public sources that name them."""

    id: str
    title: str
    version: str
    use: str
    sources: dict[str, str]
    objective: tuple[Objective, ...]


@cache
def standards() -> tuple[Standard, ...]:
    """All standards, in the order of the file."""
    return convert(entries("objectives.toml", "standard"), tuple[Standard, ...])


def objectives_page() -> str:
    """The tables as a page in Markdown."""
    lines = ["# Objectives of standards", "", *INTRODUCTION.splitlines(), ""]
    for standard in standards():
        lines += [f"## {standard.title}", "", f"Version: {standard.version}. {standard.use}", ""]
        lines += [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
        lines += [f"| {' | '.join(_cells(objective))} |" for objective in standard.objective]
        lines += ["", "Sources:", "", *(f"* {key}: {source}" for key, source in standard.sources.items()), ""]
    return "\n".join(lines)


def _cells(row: Objective) -> Iterator[str]:
    yield ", ".join(row.id) + (" *(by title)*" if row.named_by == "title" else "")
    yield row.asks
    yield row.gives
    yield ", ".join(f"`{command}`" for command in (*row.commands, *row.files))
    yield row.remains
    yield row.source


def absent_files(present: Collection[str]) -> tuple[str, ...]:
    """The named files of a pack that one with these files has not; a name ending in "/" is a folder with some file."""
    named = {name for standard in standards() for objective in standard.objective for name in objective.files}
    return tuple(sorted(name for name in named if name.startswith(PACK) and not _is_in(name[len(PACK) :], present)))


def _is_in(name: str, present: Collection[str]) -> bool:
    return any(file.startswith(name) for file in present) if name.endswith("/") else name in present


def objectives_data(absent: Collection[str]) -> dict[str, Any]:
    """The document objectives.json of a pack that has not the files named `absent`."""
    return {"format": FORMAT, "standards": to_builtins(standards()), "absent": list(absent)}
