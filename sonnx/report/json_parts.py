"""What the JSON documents of all commands share.

Each document is a structure: `python -m tools.schemas` makes its JSON Schema from the fields and the texts below them,
and `dumps` writes it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import fields

from sonnx.base.resources import tool_version
from sonnx.profile.definitions import Edition, Tag
from sonnx.profile.text_types import EditionName, Text


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a document; a text that may be absent is null, not empty."""


class Tool(Part, frozen=True):
    """The program."""

    name: Literal["sonnx"]
    """The name of the program."""
    version: Text
    """The version of the program, 0 in a tree that is not installed."""


class JsonDocument(Part, frozen=True):
    """The beginning of a document."""

    format: Literal[1]
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool
    """The program that wrote the document."""


class EditionPart(Part, frozen=True):
    """An edition of the profile."""

    name: EditionName
    """The name of the edition."""
    title: Text
    """What the edition is."""
    consolidated: bool
    """Whether this tool chose the texts of the edition."""


class TagPart(Part, frozen=True):
    """A label of a rule."""

    text: Text
    """The text that uses the label."""
    label: Text
    """The label as the text prints it."""
    origin: Text
    """Where the text says the rule comes from."""


class Place(Part, frozen=True):
    """A place in a model."""

    place: Text
    """The path in the file, such as graph/node[4] or graph/node[4]/then_branch/output[0]."""
    kind: Literal["node", "value", "graph", "function", "tensor", "model", "deviation"]
    """What stands there."""
    name: str
    """Its name as the file has it, empty where it has none."""
    operator: str | None
    """The operator of a node, null for anything else."""


def tool() -> Tool:
    """This program."""
    return Tool("sonnx", tool_version())


Kind = TypeVar("Kind", bound=Part)


def part(kind: type[Kind], source: object, /, **known: Any) -> Kind:
    """A part with the attributes of a source as its fields, but for those that are known."""
    absent = _may_be_absent(kind)
    found = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in known}
    return kind(**known, **{name: None if value == "" and name in absent else value for name, value in found.items()})


@cache
def _may_be_absent(kind: type[Part]) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind) if type(None) in get_args(each.type))


def edition_part(edition: Edition) -> EditionPart:
    """An edition as a part."""
    return part(EditionPart, edition)


def tag_parts(tags: tuple[Tag, ...]) -> tuple[TagPart, ...]:
    """Labels as parts."""
    return tuple([part(TagPart, each) for each in tags])


def dumps(document: Struct) -> str:
    """A document in ASCII, ending in a line feed."""
    data: Any = to_builtins(document)
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
